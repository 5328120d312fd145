-- The id of the SECRET_KEY that encrypted a stored value, which begins with the byte 3 and the 8 bytes of that id. Null for a value that no SECRET_KEY
-- encrypted.
CREATE FUNCTION sealed_key_id(sealed bytea) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN octet_length(sealed) > 9 AND substr(sealed, 1, 1) = '\x03' THEN encode(substr(sealed, 2, 8), 'hex') END
$$;

-- A value that no SECRET_KEY encrypted could never be read again: an instance of an older version fails to write it.
ALTER TABLE signing_keys ADD CONSTRAINT signing_keys_sealed CHECK (sealed_key_id(private_key_encrypted) IS NOT NULL);
ALTER TABLE clients ADD CONSTRAINT clients_sealed CHECK (
  (shared_secret_encrypted IS NULL OR sealed_key_id(shared_secret_encrypted) IS NOT NULL)
  AND (client_secret_encrypted IS NULL OR sealed_key_id(client_secret_encrypted) IS NOT NULL));
ALTER TABLE authenticators ADD CONSTRAINT authenticators_sealed CHECK (sealed_key_id(secret_encrypted) IS NOT NULL);

-- each start reads which keys the stored values need
CREATE INDEX signing_keys_key_id ON signing_keys (sealed_key_id(private_key_encrypted));
CREATE INDEX clients_shared_secret_key_id ON clients (sealed_key_id(shared_secret_encrypted));
CREATE INDEX clients_client_secret_key_id ON clients (sealed_key_id(client_secret_encrypted));
CREATE INDEX authenticators_key_id ON authenticators (sealed_key_id(secret_encrypted));

-- The running instances, each with the id of the key that it encrypts with. An instance without a recent heartbeat is gone.
CREATE TABLE instances (
  id uuid PRIMARY KEY,
  secret_key_id text NOT NULL CHECK (secret_key_id ~ '^[0-9a-f]{16}$'),
  started_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  seen_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
