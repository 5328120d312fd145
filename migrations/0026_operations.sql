-- What the console shows of the past without reading it all: counts by the hour, and the audit trail by each of its facts. And its end.

-- How often what happened, hour by hour: filled by the background job from the audit trail, and by each instance with what it granted.
CREATE TABLE hourly_counts (
  -- when the hour begins
  hour timestamptz NOT NULL,
  kind text NOT NULL,
  count bigint NOT NULL CHECK (count > 0),
  PRIMARY KEY (hour, kind)
);

-- How far the background job is: one row.
CREATE TABLE clean_up (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- events before this moment stand in hourly_counts
  counted_until timestamptz NOT NULL,
  -- when it last went through everything
  finished_at timestamptz
);
-- the last month of a trail that there is already is counted, too, bit by bit
INSERT INTO clean_up (counted_until)
  SELECT greatest(date_trunc('hour', coalesce(min(at), now()), 'UTC'), date_trunc('hour', now(), 'UTC') - interval '32 days') FROM audit_events;

-- An operator of a big trail makes these four beforehand, concurrently: docs/operator.md
CREATE INDEX IF NOT EXISTS audit_events_newest_of_actor ON audit_events (actor, at DESC, id DESC) WHERE actor IS NOT NULL;
CREATE INDEX IF NOT EXISTS audit_events_newest_at_address ON audit_events (address, at DESC, id DESC) WHERE address IS NOT NULL;
CREATE INDEX IF NOT EXISTS audit_events_newest_failures ON audit_events (at DESC, id DESC) WHERE outcome = 'failure';
CREATE INDEX IF NOT EXISTS sessions_newest_at_address ON sessions (address, created_at DESC, id DESC) WHERE address IS NOT NULL;

-- A flood of one kind of counter must not push another kind out.
CREATE INDEX rate_limits_expiry_of_kind ON rate_limits (split_part(key, ':', 1), expire);

-- The trail stays append-only but for one door: what is older than the time for which it is kept goes, if whoever deletes says in
-- this very transaction for how many seconds that is, a day at least. The background job does (AUDIT_RETENTION); nothing else.
CREATE FUNCTION refuse_young_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kept bigint := nullif(current_setting('gatehouse.audit_retention', true), '')::bigint;
BEGIN
  IF kept IS NULL OR kept < 86400 OR OLD.at >= now() - make_interval(secs => kept) THEN
    RAISE EXCEPTION 'the table % is append-only', TG_TABLE_NAME;
  END IF;
  RETURN OLD;
END $$;
CREATE FUNCTION refuse_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF coalesce(current_setting('gatehouse.audit_retention', true), '') = '' THEN
    RAISE EXCEPTION 'the table % is append-only', TG_TABLE_NAME;
  END IF;
  RETURN NULL;
END $$;
DROP TRIGGER audit_events_append_only ON audit_events;
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR TRUNCATE ON audit_events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- refuses also what would find no row
CREATE TRIGGER audit_events_deletion BEFORE DELETE ON audit_events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER audit_events_young BEFORE DELETE ON audit_events
  FOR EACH ROW EXECUTE FUNCTION refuse_young_deletion();
