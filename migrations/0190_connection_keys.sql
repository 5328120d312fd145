-- The key by which a connection authenticates at the other side (private_key_jwt), of which this service publishes the public half.
ALTER TABLE connections
  ADD COLUMN key_encrypted bytea CHECK (key_encrypted IS NULL OR sealed_key_id(key_encrypted) IS NOT NULL),
  ADD COLUMN key_public jsonb,
  ADD COLUMN key_since timestamptz,
  ADD CHECK ((key_encrypted IS NULL) = (key_public IS NULL)),
  ADD CHECK ((key_encrypted IS NULL) = (key_since IS NULL));
CREATE INDEX connections_key_key_id ON connections (sealed_key_id(key_encrypted));
