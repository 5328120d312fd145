-- The audit trail is append-only, with one exception: a transaction that sets gatehouse.audit_retention to the seconds for which events are kept, a day
-- at least, may delete older events. The background job does so (AUDIT_RETENTION).
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- refuses also a DELETE that would find no row
  IF TG_OP <> 'DELETE' OR coalesce(current_setting('gatehouse.audit_retention', true), '') = '' THEN
    RAISE EXCEPTION 'the table % is append-only', TG_TABLE_NAME;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION refuse_young_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kept bigint := nullif(current_setting('gatehouse.audit_retention', true), '')::bigint;
BEGIN
  IF kept IS NULL OR kept < 86400 OR OLD.at >= now() - make_interval(secs => kept) THEN
    RAISE EXCEPTION 'the table % is append-only', TG_TABLE_NAME;
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER audit_events_young BEFORE DELETE ON audit_events FOR EACH ROW EXECUTE FUNCTION refuse_young_deletion();
