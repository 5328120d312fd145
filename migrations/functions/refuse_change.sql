-- Keeps the audit trail append-only, with one exception: a transaction that sets gatehouse.audit_retention to the seconds for which events are kept, a
-- day at least, may delete older events. The background job does so (AUDIT_RETENTION).
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- refuses also a DELETE that would find no row
  IF TG_OP <> 'DELETE' OR coalesce(current_setting('gatehouse.audit_retention', true), '') = '' THEN
    RAISE EXCEPTION 'the table % is append-only', TG_TABLE_NAME;
  END IF;
  RETURN NULL;
END $$;
