-- Keeps the audit trail append-only, with two exceptions. A transaction that sets gatehouse.audit_retention to the seconds for which events are kept,
-- a day at least, may delete older events (AUDIT_RETENTION). One that sets gatehouse.audit_address_retention may remove the network addresses of
-- older events (AUDIT_ADDRESS_RETENTION). The background job does both.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- refuses also a statement that would find no row
  IF coalesce(CASE TG_OP WHEN 'DELETE' THEN current_setting('gatehouse.audit_retention', true)
                         WHEN 'UPDATE' THEN current_setting('gatehouse.audit_address_retention', true) END, '') = '' THEN
    RAISE EXCEPTION 'the table % is append-only', TG_TABLE_NAME;
  END IF;
  RETURN NULL;
END $$;
