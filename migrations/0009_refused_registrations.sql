-- A registration that an administrator refused, with the reason that the registrant can read.
ALTER TABLE clients ADD COLUMN refused_at timestamptz;
ALTER TABLE clients ADD COLUMN refusal_reason text CHECK (char_length(refusal_reason) BETWEEN 1 AND 1000);
ALTER TABLE clients ADD CONSTRAINT clients_refusal CHECK ((refused_at IS NULL) = (refusal_reason IS NULL));
-- what is enabled is not refused: whoever approves it, by SQL too
CREATE FUNCTION client_refusal_ends() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status = 'enabled' THEN
    NEW.refused_at := NULL;
    NEW.refusal_reason := NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER clients_0_refusal BEFORE UPDATE OF status ON clients FOR EACH ROW EXECUTE FUNCTION client_refusal_ends();

-- those that nobody approved are looked through by age
CREATE INDEX clients_abandoned ON clients (updated_at) WHERE status = 'disabled' AND approved_by IS NULL;
DROP INDEX clients_waiting;
CREATE INDEX clients_waiting ON clients (created_at DESC, client_id DESC)
  WHERE status = 'disabled' AND approved_by IS NULL AND refused_at IS NULL;
