-- Refuses to delete an event of the audit trail that is younger than gatehouse.audit_retention says.
CREATE OR REPLACE FUNCTION refuse_young_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kept bigint := nullif(current_setting('gatehouse.audit_retention', true), '')::bigint;
BEGIN
  IF kept IS NULL OR kept < 86400 OR OLD.at >= now() - make_interval(secs => kept) THEN
    RAISE EXCEPTION 'the table % is append-only', TG_TABLE_NAME;
  END IF;
  RETURN OLD;
END $$;
