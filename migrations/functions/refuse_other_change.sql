-- Refuses to change an event of the audit trail, except to remove the network address of one that is older than gatehouse.audit_address_retention says.
CREATE OR REPLACE FUNCTION refuse_other_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kept bigint := nullif(current_setting('gatehouse.audit_address_retention', true), '')::bigint;
BEGIN
  IF kept IS NULL OR kept < 86400 OR OLD.at >= now() - make_interval(secs => kept)
     OR NEW.address IS NOT NULL OR to_jsonb(NEW) - 'address' <> to_jsonb(OLD) - 'address' THEN
    RAISE EXCEPTION 'the table % is append-only', TG_TABLE_NAME;
  END IF;
  RETURN NEW;
END $$;
