-- JWT access tokens (RFC 9068), for resources that check tokens by themselves.
ALTER TABLE resources
  ADD COLUMN access_token_format text NOT NULL DEFAULT 'opaque' CHECK (access_token_format IN ('opaque', 'jwt')),
  ADD COLUMN access_token_signing_alg text NOT NULL DEFAULT 'RS256' CHECK (access_token_signing_alg IN ('RS256', 'PS256', 'ES256', 'EdDSA'));

-- the `alg`, `audience` and `server` of an access token that becomes a JWT
ALTER TYPE token_answer ADD ATTRIBUTE jwt jsonb;
