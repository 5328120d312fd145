-- Creates the audit trail, and what the console shows of it without reading it all.
CREATE TABLE audit_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  type text NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('success', 'failure')),
  actor text,
  client_id text,
  sub text,
  address inet,
  detail jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_events_newest ON audit_events (at DESC, id DESC);
CREATE INDEX audit_events_newest_of_client ON audit_events (client_id, at DESC, id DESC) WHERE client_id IS NOT NULL;
CREATE INDEX audit_events_newest_of_subject ON audit_events (sub, at DESC, id DESC) WHERE sub IS NOT NULL;
CREATE INDEX audit_events_newest_of_type ON audit_events (type, at DESC, id DESC);
CREATE INDEX audit_events_newest_of_actor ON audit_events (actor, at DESC, id DESC) WHERE actor IS NOT NULL;
CREATE INDEX audit_events_newest_at_address ON audit_events (address, at DESC, id DESC) WHERE address IS NOT NULL;
CREATE INDEX audit_events_newest_failures ON audit_events (at DESC, id DESC) WHERE outcome = 'failure';

CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_events_young BEFORE DELETE ON audit_events FOR EACH ROW EXECUTE FUNCTION refuse_young_deletion();

-- How often each kind of event happened, hour by hour: counted by the background job from the audit trail, and by each instance for its grants
CREATE TABLE hourly_counts (
  -- the beginning of the hour
  hour timestamptz NOT NULL,
  kind text NOT NULL,
  count bigint NOT NULL CHECK (count > 0),
  PRIMARY KEY (hour, kind)
);

-- The progress of the background job: one row
CREATE TABLE clean_up (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- earlier events are counted in hourly_counts
  counted_until timestamptz NOT NULL,
  -- when the job last finished
  finished_at timestamptz
);
INSERT INTO clean_up (counted_until) VALUES (date_trunc('hour', now(), 'UTC'));
