-- Adds SAML applications: the members of a client of the kind saml, the keys that sign for them, and the sessions that their assertions named.
ALTER TABLE clients
  ADD COLUMN entity_id text CHECK (entity_id ~ '^[!-~]+$' AND length(entity_id) <= 1024),
  -- the addresses that get responses, the default first
  ADD COLUMN acs_uris text[] CHECK (array_position(acs_uris, NULL) IS NULL),
  ADD COLUMN slo_uri text,
  -- the certificates whose keys sign its requests, in PEM
  ADD COLUMN certificates text[] CHECK (array_position(certificates, NULL) IS NULL),
  ADD COLUMN name_id text,
  ADD COLUMN sign_response boolean,
  ADD COLUMN encryption_certificate text,
  ADD COLUMN require_signed_requests boolean,
  ADD COLUMN idp_initiated boolean;
-- a request names its application by this
CREATE UNIQUE INDEX clients_entity_id ON clients (entity_id) WHERE entity_id IS NOT NULL;
-- the statement of an older instance implies the condition, too
DROP INDEX clients_start;
CREATE INDEX clients_start ON clients (client_id)
  WHERE status = 'enabled' AND NOT start_hidden AND (start_uri IS NOT NULL OR metadata ? 'initiate_login_uri' OR idp_initiated);

-- RSA keys with their certificates. None of them is in the JWK Set.
CREATE TABLE saml_keys (
  id text PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9_-]{43}$'),
  certificate text NOT NULL,
  private_key_encrypted bytea NOT NULL CONSTRAINT saml_keys_sealed CHECK (sealed_key_id(private_key_encrypted) IS NOT NULL),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  -- since when it signs, until a later one does; null for one that is only published
  active_at timestamptz
);
CREATE INDEX saml_keys_key_id ON saml_keys (sealed_key_id(private_key_encrypted));

-- What an assertion told an application, by which a LogoutRequest names the session. A row counts while its client session lives. It has no foreign key:
-- each end of a client session, of any client, would have to look here.
CREATE TABLE saml_sessions (
  client_session_id bigint PRIMARY KEY,
  client_id text NOT NULL,
  session_index text NOT NULL,
  name_id text NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX saml_sessions_name ON saml_sessions (client_id, name_id);
CREATE INDEX saml_sessions_expiry ON saml_sessions (expires_at);
