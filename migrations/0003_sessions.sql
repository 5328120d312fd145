-- The browser's single sign-on sessions, the client sessions that hang on them, and what is issued for those.
CREATE TABLE sessions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  -- the name by which clients know the session
  sid text NOT NULL UNIQUE,
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  auth_time timestamptz NOT NULL DEFAULT now(),
  amr text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  used_at timestamptz NOT NULL DEFAULT now(),
  -- the idle end, moved by use, never past the absolute one
  idle_expires_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  user_agent text,
  address inet,
  CHECK (idle_expires_at <= expires_at)
);
CREATE INDEX sessions_user ON sessions (sub);
CREATE INDEX sessions_expiry ON sessions (idle_expires_at);
CREATE INDEX sessions_newest ON sessions (created_at DESC, id DESC);

-- Consent that is remembered
CREATE TABLE grants (
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  scope text[] NOT NULL,
  redirect_uris text[] NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (sub, client_id)
);
CREATE INDEX grants_client ON grants (client_id);

-- One authorization of one client by one user: the family of all tokens that come of it.
-- It ends with its session, unless offline_access was granted.
CREATE TABLE client_sessions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_id bigint REFERENCES sessions ON DELETE CASCADE,
  sid text NOT NULL,
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  client_epoch integer NOT NULL,
  scope text NOT NULL,
  offline boolean NOT NULL,
  auth_time timestamptz NOT NULL,
  amr text[] NOT NULL,
  nonce text,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  -- when nothing that hangs on it can be alive any more
  expires_at timestamptz NOT NULL,
  CHECK (session_id IS NOT NULL OR offline)
);
CREATE INDEX client_sessions_session ON client_sessions (session_id, client_id);
CREATE INDEX client_sessions_client ON client_sessions (client_id, sub);
CREATE INDEX client_sessions_user ON client_sessions (sub);
CREATE INDEX client_sessions_expiry ON client_sessions (expires_at);

CREATE TABLE authorization_codes (
  code_hash bytea PRIMARY KEY CHECK (octet_length(code_hash) = 32),
  client_session_id bigint NOT NULL UNIQUE REFERENCES client_sessions ON DELETE CASCADE,
  redirect_uri text NOT NULL,
  code_challenge text CHECK (char_length(code_challenge) = 43),
  issued_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  redeemed_at timestamptz,
  redemptions integer NOT NULL DEFAULT 0,
  failures smallint NOT NULL DEFAULT 0 CHECK (failures BETWEEN 0 AND 5),
  CHECK ((redeemed_at IS NULL) = (redemptions = 0))
);

CREATE TABLE access_tokens (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  -- of a client session, or (client credentials) of the client itself
  client_session_id bigint REFERENCES client_sessions ON DELETE CASCADE,
  client_id text REFERENCES clients ON DELETE CASCADE,
  client_epoch integer,
  -- null: the client session's
  scope text,
  issued_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  CHECK (num_nonnulls(client_session_id, client_id) = 1),
  CHECK ((client_id IS NULL) = (client_epoch IS NULL)),
  CHECK (client_id IS NULL OR scope IS NOT NULL)
);
CREATE INDEX access_tokens_client_session ON access_tokens (client_session_id) WHERE client_session_id IS NOT NULL;
CREATE INDEX access_tokens_client ON access_tokens (client_id) WHERE client_id IS NOT NULL;
CREATE INDEX access_tokens_expiry ON access_tokens (expires_at);

CREATE TABLE refresh_tokens (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  client_session_id bigint NOT NULL REFERENCES client_sessions ON DELETE CASCADE,
  generation integer NOT NULL CHECK (generation >= 1),
  issued_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  -- being spent is a stored fact; how often it was used decides about the grace
  spent_at timestamptz,
  uses integer NOT NULL DEFAULT 0 CHECK (uses >= 0),
  CHECK ((spent_at IS NULL) = (uses = 0))
);
CREATE INDEX refresh_tokens_client_session ON refresh_tokens (client_session_id);
CREATE INDEX refresh_tokens_expiry ON refresh_tokens (expires_at);

-- An authorization request that waits for its End-User, bound to one browser.
CREATE TABLE authorization_requests (
  id_hash bytea PRIMARY KEY CHECK (octet_length(id_hash) = 32),
  browser_hash bytea NOT NULL CHECK (octet_length(browser_hash) = 32),
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  -- which address it came to: /authorize or the short form /authenticate
  endpoint text NOT NULL CHECK (endpoint IN ('authorization', 'authentication')),
  parameters jsonb NOT NULL CHECK (jsonb_typeof(parameters) = 'object'),
  -- what was decided on the consent page for this very request, and by whom
  decision text CHECK (decision IN ('allowed', 'denied')),
  decided_sub text REFERENCES users ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  expires_at timestamptz NOT NULL,
  CHECK ((decision IS NULL) = (decided_sub IS NULL))
);
CREATE INDEX authorization_requests_browser ON authorization_requests (browser_hash, created_at);
CREATE INDEX authorization_requests_client ON authorization_requests (client_id);
CREATE INDEX authorization_requests_decided ON authorization_requests (decided_sub) WHERE decided_sub IS NOT NULL;
CREATE INDEX authorization_requests_expiry ON authorization_requests (expires_at);
