-- The keys to which codes and tokens are bound (RFC 7800, RFC 8705 3.1, RFC 9449 6.1). Null for a Bearer token.

-- Whether `cnf` is as introspection shows it: exactly one thumbprint, of a DPoP key or of a certificate.
CREATE FUNCTION is_confirmation(cnf jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN (cnf ->> 'jkt' ~ '^[A-Za-z0-9_-]{43}$' AND cnf - 'jkt' = '{}'
     OR cnf ->> 'x5t#S256' ~ '^[A-Za-z0-9_-]{43}$' AND cnf - 'x5t#S256' = '{}') IS TRUE;

-- not validated, which would read the whole tables: the new columns are null in every row
ALTER TABLE authorization_codes
  -- the key by which the code must be redeemed
  ADD COLUMN cnf jsonb, ADD CONSTRAINT authorization_codes_cnf CHECK (cnf IS NULL OR is_confirmation(cnf)) NOT VALID;
ALTER TABLE device_authorizations
  ADD COLUMN cnf jsonb, ADD CONSTRAINT device_authorizations_cnf CHECK (cnf IS NULL OR is_confirmation(cnf)) NOT VALID;
ALTER TABLE access_tokens
  ADD COLUMN cnf jsonb, ADD CONSTRAINT access_tokens_cnf CHECK (cnf IS NULL OR is_confirmation(cnf)) NOT VALID;
ALTER TABLE client_session_handles
  ADD COLUMN cnf jsonb, ADD CONSTRAINT client_session_handles_cnf CHECK (cnf IS NULL OR is_confirmation(cnf)) NOT VALID;
ALTER TABLE client_sessions
  -- the key of the session's refresh tokens, which they keep as long as they live
  ADD COLUMN cnf jsonb, ADD CONSTRAINT client_sessions_cnf CHECK (cnf IS NULL OR is_confirmation(cnf)) NOT VALID;
