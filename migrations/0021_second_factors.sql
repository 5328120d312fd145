-- Second factors of people: authenticators, which show codes that change with the time (RFC 6238), and recovery codes for when those are lost.

CREATE TABLE authenticators (
  id text PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64),
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  -- as its person calls it; may be empty
  name text NOT NULL CHECK (length(name) <= 60),
  secret_encrypted bytea NOT NULL,
  -- the time step of the last code that was taken: neither that one nor one before it is good again (RFC 6238 5.2)
  last_step bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  used_at timestamptz
);
CREATE INDEX authenticators_user ON authenticators (sub);

-- One that was used is gone.
CREATE TABLE recovery_codes (
  code_hash bytea PRIMARY KEY CHECK (octet_length(code_hash) = 32),
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE INDEX recovery_codes_user ON recovery_codes (sub);

-- Wrong codes are counted beside wrong passwords, but apart: whoever knows the password could else forget the wrong codes by it.
ALTER TABLE sign_in_failures ADD COLUMN second_factor boolean NOT NULL DEFAULT false;

CREATE OR REPLACE FUNCTION user_password_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM known_browsers WHERE sub = NEW.sub;
  DELETE FROM sign_in_failures WHERE sub = NEW.sub AND NOT second_factor;
  RETURN NULL;
END $$;

CREATE FUNCTION authenticator_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hold_data_key(NEW.secret_encrypted);
  RETURN NEW;
END $$;
CREATE TRIGGER authenticators_sealed BEFORE INSERT OR UPDATE OF secret_encrypted ON authenticators
  FOR EACH ROW EXECUTE FUNCTION authenticator_sealed();

-- As in migration 0020, with the secrets of authenticators.
CREATE OR REPLACE FUNCTION keep_used_data_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM signing_keys WHERE data_key_version(private_key_encrypted) = OLD.version)
    OR EXISTS (SELECT FROM clients WHERE data_key_version(shared_secret_encrypted) = OLD.version OR data_key_version(client_secret_encrypted) = OLD.version)
    OR EXISTS (SELECT FROM authenticators WHERE data_key_version(secret_encrypted) = OLD.version)
  THEN
    RETURN NULL;
  END IF;
  RETURN OLD;
END $$;

-- The level of authentication that a client's people have to reach, as an administrator demands it; null for any.
ALTER TABLE clients ADD COLUMN required_acr text CHECK (length(required_acr) BETWEEN 1 AND 200);
