-- What is encrypted at rest is sealed with data keys, and SECRET_KEY wraps those. A sealed value begins with the version of its data key: the byte 1
-- for version 1, else the byte 2 and four bytes.
CREATE TABLE data_keys (
  version integer PRIMARY KEY CHECK (version > 0),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  -- null until every running instance has it; the newest active key seals
  active_at timestamptz,
  -- set once nothing is sealed with it any more: until then digests made with it are good
  expires_at timestamptz CHECK (active_at IS NOT NULL OR expires_at IS NULL)
);
CREATE INDEX data_keys_expiry ON data_keys (expires_at);
INSERT INTO data_keys (version, active_at) VALUES (1, now());

-- A data key under each SECRET_KEY in use: two while instances are restarted with another one.
CREATE TABLE data_key_wrappings (
  version integer NOT NULL REFERENCES data_keys ON DELETE CASCADE,
  -- tells one SECRET_KEY from another, and nothing more
  secret_key_id text NOT NULL CHECK (secret_key_id ~ '^[0-9a-f]{16}$'),
  wrapped bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  PRIMARY KEY (version, secret_key_id)
);

-- Tells all instances to read the data keys again.
CREATE FUNCTION data_key_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gatehouse', 'data-keys');
  RETURN NULL;
END $$;
CREATE TRIGGER data_keys_effects AFTER INSERT OR UPDATE OR DELETE ON data_keys
  FOR EACH STATEMENT EXECUTE FUNCTION data_key_effects();

CREATE FUNCTION data_key_version(sealed bytea) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN octet_length(sealed) > 4 AND get_byte(sealed, 0) = 2
    THEN (get_byte(sealed, 1) << 24) | (get_byte(sealed, 2) << 16) | (get_byte(sealed, 3) << 8) | get_byte(sealed, 4)
    ELSE 1 END
$$;

-- A value can only be stored under a data key that exists, and a data key under which a value is stored cannot be deleted: what a reference
-- would do, if it could look into the value.
CREATE FUNCTION hold_data_key(sealed bytea) RETURNS void LANGUAGE plpgsql STRICT AS $$
BEGIN
  PERFORM FROM data_keys WHERE version = data_key_version(sealed) FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no data key %', data_key_version(sealed) USING ERRCODE = 'foreign_key_violation';
  END IF;
END $$;

CREATE FUNCTION signing_key_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hold_data_key(NEW.private_key_encrypted);
  RETURN NEW;
END $$;
CREATE TRIGGER signing_keys_sealed BEFORE INSERT OR UPDATE OF private_key_encrypted ON signing_keys
  FOR EACH ROW EXECUTE FUNCTION signing_key_sealed();

CREATE FUNCTION client_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' OR NEW.shared_secret_encrypted IS DISTINCT FROM OLD.shared_secret_encrypted THEN
    PERFORM hold_data_key(NEW.shared_secret_encrypted);
  END IF;
  IF TG_OP = 'INSERT' OR NEW.client_secret_encrypted IS DISTINCT FROM OLD.client_secret_encrypted THEN
    PERFORM hold_data_key(NEW.client_secret_encrypted);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER clients_sealed BEFORE INSERT OR UPDATE OF shared_secret_encrypted, client_secret_encrypted ON clients
  FOR EACH ROW EXECUTE FUNCTION client_sealed();

CREATE FUNCTION authenticator_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hold_data_key(NEW.secret_encrypted);
  RETURN NEW;
END $$;
CREATE TRIGGER authenticators_sealed BEFORE INSERT OR UPDATE OF secret_encrypted ON authenticators
  FOR EACH ROW EXECUTE FUNCTION authenticator_sealed();

-- The row is locked before this runs, so that it sees each value that was stored under the key.
CREATE FUNCTION keep_used_data_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM signing_keys WHERE data_key_version(private_key_encrypted) = OLD.version)
    OR EXISTS (SELECT FROM clients WHERE data_key_version(shared_secret_encrypted) = OLD.version OR data_key_version(client_secret_encrypted) = OLD.version)
    OR EXISTS (SELECT FROM authenticators WHERE data_key_version(secret_encrypted) = OLD.version)
  THEN
    RETURN NULL;
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER data_keys_used BEFORE DELETE ON data_keys FOR EACH ROW EXECUTE FUNCTION keep_used_data_key();
