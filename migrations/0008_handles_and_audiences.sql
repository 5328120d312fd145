-- Audiences (RFC 8707), and client-session handles: the code itself, and one that never stood in a URL.
ALTER TABLE client_sessions ADD COLUMN audience text[];
ALTER TABLE access_tokens ADD COLUMN audience text[];
ALTER TABLE access_tokens ADD CONSTRAINT access_tokens_audience CHECK (audience IS NULL OR client_id IS NOT NULL);

-- which client is the resource server of a URI
CREATE INDEX clients_resource_uris ON clients USING gin ((metadata -> 'resource_uris'));

-- the first use of a code as a handle, within its minute, keeps it alive as one; a fresh handle's first use retires it
ALTER TABLE authorization_codes ADD COLUMN activated_at timestamptz;
ALTER TABLE authorization_codes ADD COLUMN retired_at timestamptz;

CREATE TABLE client_session_handles (
  handle_hash bytea PRIMARY KEY CHECK (octet_length(handle_hash) = 32),
  client_session_id bigint NOT NULL UNIQUE REFERENCES client_sessions ON DELETE CASCADE,
  issued_at timestamptz NOT NULL DEFAULT now()
);

-- Which clients take part in a session, for as long as it lives
CREATE TABLE session_clients (
  session_id bigint NOT NULL REFERENCES sessions ON DELETE CASCADE,
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  PRIMARY KEY (session_id, client_id)
);
CREATE INDEX session_clients_client ON session_clients (client_id);

-- Per-client settings of a user: one row, so that its limits hold for the whole.
CREATE FUNCTION settings_are_within_limits(settings jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_typeof(settings) = 'object'
     AND octet_length(settings::text) <= 65536
     AND (SELECT count(*) FROM jsonb_object_keys(settings)) <= 256
$$;
CREATE TABLE user_settings (
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  settings jsonb NOT NULL CONSTRAINT user_settings_limits CHECK (settings_are_within_limits(settings)),
  -- rises with every write: the entity tag
  version bigint NOT NULL DEFAULT 1,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (sub, client_id)
);
CREATE INDEX user_settings_client ON user_settings (client_id);
