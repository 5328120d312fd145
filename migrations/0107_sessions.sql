-- Single sign-on sessions of browsers, and the client sessions in them. Rows that are updated after they are made leave room on their page, so
-- that an update needs no new index entry. The length of a digest and the words of an enumeration have no CHECK where only the service writes
-- them: each statement that writes a row would have to read the checks anew.
CREATE TABLE sessions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  token_hash bytea NOT NULL UNIQUE,
  -- the name of the session for clients
  sid text NOT NULL UNIQUE,
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  auth_time timestamptz NOT NULL DEFAULT now(),
  amr text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  used_at timestamptz NOT NULL DEFAULT now(),
  -- the idle end moves with use, and never past the absolute end
  idle_expires_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  user_agent text,
  address inet,
  -- when the newest authorization responses were issued, oldest first, as many as the limit counts
  codes_at timestamptz[] NOT NULL DEFAULT '{}',
  CHECK (idle_expires_at <= expires_at)
) WITH (fillfactor = 85);
-- the sessions of one user by sign-in: the oldest end when there are too many
CREATE INDEX sessions_user ON sessions (sub, auth_time DESC);
CREATE INDEX sessions_expiry ON sessions (idle_expires_at);
CREATE INDEX sessions_newest ON sessions (created_at DESC, id DESC);
CREATE INDEX sessions_newest_at_address ON sessions (address, created_at DESC, id DESC) WHERE address IS NOT NULL;

-- The clients that take part in a session, for as long as it lives. Here and below a client has no foreign key: it would lock the client's row
-- for each sign-in. A deleted client's rows are deleted by a trigger, and nothing of a client lives without the client at its epoch.
CREATE TABLE session_clients (
  session_id bigint NOT NULL REFERENCES sessions ON DELETE CASCADE,
  client_id text NOT NULL,
  -- the pairwise subject; null for the user's own sub
  subject text,
  -- codes that may be live and unredeemed, oldest first: codes beyond the limit are found without reading all that the session ever got
  codes bytea[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (session_id, client_id)
) WITH (fillfactor = 85);
CREATE INDEX session_clients_client ON session_clients (client_id);

-- One authorization of one client by one user, and so the family of all its tokens (RFC 9700 4.14.2). It ends with its session,
-- unless offline_access was granted.
CREATE TABLE client_sessions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_id bigint REFERENCES sessions ON DELETE CASCADE,
  sid text NOT NULL,
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  -- the pairwise subject; null for the user's own sub
  subject text,
  client_id text NOT NULL,
  client_epoch integer NOT NULL,
  scope text NOT NULL,
  -- the single claims and the acr that the authorization request named
  requested jsonb CHECK (jsonb_typeof(requested) = 'object'),
  -- RFC 8707
  audience text[],
  offline boolean NOT NULL,
  auth_time timestamptz NOT NULL,
  amr text[] NOT NULL,
  nonce text,
  -- the refresh token from which all usable refresh tokens come, after a spent one was used again; else null (security R121)
  line bytea,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  -- when nothing of this client session can be valid any more
  expires_at timestamptz NOT NULL,
  CHECK (session_id IS NOT NULL OR offline)
);
CREATE INDEX client_sessions_newest_of_session ON client_sessions (session_id, client_id, id);
CREATE INDEX client_sessions_client ON client_sessions (client_id, sub);
CREATE INDEX client_sessions_user ON client_sessions (sub);
CREATE INDEX client_sessions_expiry ON client_sessions (expires_at);

-- Client-session handles that were never in a URL. An authorization code can also be a handle.
CREATE TABLE client_session_handles (
  handle_hash bytea PRIMARY KEY CHECK (octet_length(handle_hash) = 32),
  client_session_id bigint NOT NULL UNIQUE REFERENCES client_sessions ON DELETE CASCADE,
  issued_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX client_session_handles_newest ON client_session_handles (issued_at);
