-- Only what registered itself waits for an administrator: a client that an administrator made as disabled waits for nobody. The indexes of
-- what waits leave it out, so that counting still reads nothing but the index.
CREATE INDEX clients_waiting_registrations ON clients (created_at DESC, client_id DESC)
  WHERE self_registered AND status = 'disabled' AND approved_by IS NULL AND refused_at IS NULL;
DROP INDEX clients_waiting;
CREATE INDEX clients_undecided ON clients (created_at DESC, client_id DESC)
  WHERE (self_registered AND status = 'disabled' AND approved_by IS NULL AND refused_at IS NULL) OR pending_metadata IS NOT NULL;
DROP INDEX clients_to_decide;
CREATE INDEX clients_never_approved ON clients (updated_at) WHERE self_registered AND status = 'disabled' AND approved_by IS NULL;
DROP INDEX clients_abandoned;
