-- Decides about a client: a statement that names the column status does so, even if it leaves the status as it is. An approval admits a client again
-- whose document was missing, unless a change still waits.
CREATE OR REPLACE FUNCTION client_decision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.uncollected THEN
    -- An approval is noted in approved_by until the registrant collects the credentials, and disabling takes it back. A refusal is final, since
    -- the registrant's code is dead.
    NEW.approved_by := CASE WHEN NEW.status = 'enabled' AND NEW.refused_at IS NULL THEN coalesce(OLD.approved_by, 'administrator') END;
    NEW.status := 'disabled';
  ELSIF NEW.status = 'enabled' THEN
    NEW.refused_at := NULL;
    NEW.refusal_reason := NULL;
    -- For an enabled client the statement approves the change that waits. Enabling a disabled client approves none: a change that came while the
    -- client was disabled goes on waiting (security R116).
    IF OLD.status = 'enabled' AND NEW.pending_metadata IS NOT NULL THEN
      NEW.metadata := NEW.pending_metadata;
      NEW.pending_metadata := NULL;
    END IF;
    IF NEW.pending_metadata IS NULL THEN
      NEW.document_gone := false;
    END IF;
  END IF;
  RETURN NEW;
END $$;
