-- Creates the tables of trusted issuers (RFC 7523): whose assertions get tokens for users, and which assertions were used.
CREATE TABLE trusted_issuers (
  id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  name text NOT NULL UNIQUE CHECK (char_length(name) BETWEEN 1 AND 255),
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
  issuer text COLLATE "C" NOT NULL UNIQUE CHECK (char_length(issuer) BETWEEN 1 AND 2000),
  -- what it signs: assertions of RFC 7523, or ID-JAGs, which have a type of their own
  kind text NOT NULL DEFAULT 'jwt' CHECK (kind IN ('jwt', 'id_jag')),
  jwks_uri text,
  jwks jsonb,
  algorithms text[] NOT NULL CHECK (array_length(algorithms, 1) >= 1),
  subject text NOT NULL DEFAULT 'linked' CHECK (subject IN ('linked', 'email')),
  -- each with its `subject` there and the `user` (sub) here
  links jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(links) = 'array'),
  email_domains text[] NOT NULL DEFAULT '{}',
  clients text[] NOT NULL DEFAULT '{}' CHECK (array_position(clients, NULL) IS NULL),
  resources text[] NOT NULL CHECK (array_length(resources, 1) BETWEEN 1 AND 100),
  scopes text[] NOT NULL CHECK (array_length(scopes, 1) BETWEEN 1 AND 100),
  max_lifetime integer NOT NULL DEFAULT 300 CHECK (max_lifetime BETWEEN 1 AND 3600),
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  CHECK (num_nonnulls(jwks_uri, jwks) = 1)
);
CREATE INDEX trusted_issuers_newest ON trusted_issuers (created_at DESC, id DESC);

-- The assertions that were used, until they expire (RFC 7523 3, jti).
CREATE TABLE used_grant_assertions (
  issuer_id text NOT NULL REFERENCES trusted_issuers ON DELETE CASCADE,
  jti_hash bytea NOT NULL CHECK (octet_length(jti_hash) = 32),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (issuer_id, jti_hash)
);
CREATE INDEX used_grant_assertions_expiry ON used_grant_assertions (expires_at);
