-- Lets the background job remove network addresses from the audit trail before the events themselves (AUDIT_ADDRESS_RETENTION).
CREATE TRIGGER audit_events_kept BEFORE UPDATE ON audit_events FOR EACH ROW EXECUTE FUNCTION refuse_other_change();
-- events before this time have no network address any more
ALTER TABLE clean_up ADD COLUMN addresses_until timestamptz NOT NULL DEFAULT '-infinity';
