-- Registrations in approval mode (draft-dellaert-oauth-approval-based-dcr): approved first, their credentials collected afterwards.

-- true until the registrant collected the credentials: nobody has any, so the client is no one and stays disabled whoever approves it
ALTER TABLE clients ADD COLUMN uncollected boolean NOT NULL DEFAULT false;
ALTER TABLE clients ADD CONSTRAINT clients_uncollected CHECK (
  NOT uncollected OR (status = 'disabled' AND registration_access_token_hash IS NULL)
);
CREATE INDEX clients_uncollected ON clients (client_id) WHERE uncollected;

-- An approval, by SQL too, is noted in approved_by, and disabling takes it back; a refusal is final, since its code is dead.
-- Runs before the triggers of the other clients, which then see a client that stays disabled.
CREATE FUNCTION client_collection() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.uncollected THEN
    NEW.approved_by := CASE WHEN NEW.status = 'enabled' AND NEW.refused_at IS NULL THEN coalesce(OLD.approved_by, 'administrator') END;
    NEW.status := 'disabled';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER clients_0_collection BEFORE UPDATE OF status ON clients FOR EACH ROW EXECUTE FUNCTION client_collection();

-- The two codes of each: one by which the registrant polls, one by which an administrator finds what waits.
-- Whoever touches a row of a client that is there locks the client's row first.
CREATE TABLE deferred_registrations (
  registration_code_hash bytea PRIMARY KEY CHECK (octet_length(registration_code_hash) = 32),
  -- keyed with SECRET_KEY: eight letters alone could be guessed from a digest
  verification_code_hash bytea NOT NULL UNIQUE CHECK (octet_length(verification_code_hash) = 32),
  -- null once the client is gone: until the row goes too, the registrant is told that its time is over
  client_id text UNIQUE REFERENCES clients ON DELETE SET NULL,
  -- where the registration came from
  address inet,
  -- seconds between two polls, and when the next one may come
  poll_interval integer NOT NULL CHECK (poll_interval > 0),
  next_poll_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  expires_at timestamptz NOT NULL
);
CREATE INDEX deferred_registrations_expiry ON deferred_registrations (expires_at);
