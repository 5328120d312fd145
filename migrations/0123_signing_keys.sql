-- Creates the table of the keys that sign ID Tokens: published before they are used and after they are retired.
CREATE TABLE signing_keys (
  kid text PRIMARY KEY CHECK (kid ~ '^[A-Za-z0-9_-]{1,64}$'),
  alg text NOT NULL CHECK (alg IN ('RS256', 'PS256', 'ES256', 'EdDSA')),
  public_jwk jsonb NOT NULL CHECK (jsonb_typeof(public_jwk) = 'object' AND NOT public_jwk ?| ARRAY['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']),
  private_key_encrypted bytea NOT NULL CONSTRAINT signing_keys_sealed CHECK (sealed_key_id(private_key_encrypted) IS NOT NULL),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  -- the key signs from this time, until a newer active key of the same algorithm replaces it
  active_at timestamptz NOT NULL,
  -- the end of its publication; null while it signs or waits to sign
  expires_at timestamptz,
  CHECK (expires_at IS NULL OR expires_at > active_at)
);
CREATE UNIQUE INDEX signing_keys_one_per_moment ON signing_keys (alg, active_at);
CREATE INDEX signing_keys_key_id ON signing_keys (sealed_key_id(private_key_encrypted));
CREATE TRIGGER signing_keys_effects AFTER INSERT OR UPDATE OR DELETE ON signing_keys
  FOR EACH STATEMENT EXECUTE FUNCTION signing_key_effects();
