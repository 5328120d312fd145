-- Creates the tables of single sign-on sessions of browsers, and of the client sessions in them. Rows that are updated after they are made leave room on
-- their page, so that an update needs no new index entry. The length of a digest and the words of an enumeration have no CHECK where only the service
-- writes them: each statement that writes a row would have to read the checks anew. A domain has its check read once in a connection.

CREATE DOMAIN digest AS bytea CONSTRAINT digest_length CHECK (octet_length(VALUE) = 32);
-- the key to which a token or a code is bound, as introspection shows it
CREATE DOMAIN confirmation AS jsonb CONSTRAINT confirmation_key CHECK (VALUE IS NULL OR is_confirmation(VALUE));

CREATE TABLE sessions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  auth_time timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  used_at timestamptz NOT NULL DEFAULT now(),
  -- the idle end moves with use, and never past the absolute end
  idle_expires_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  -- the name of the session for clients
  sid text NOT NULL UNIQUE,
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  amr text[] NOT NULL,
  -- when the newest authorization responses were issued, oldest first, as many as the limit counts
  codes_at timestamptz[] NOT NULL DEFAULT '{}',
  -- the connection by which the user signed in
  connection_id text,
  -- The form by which the session got its cookie. For ten seconds the same form of the same browser gets another cookie of this session: the answer to a
  -- double click's first request is lost, and what the form used up is gone.
  form_at timestamptz,
  form_hash bytea,
  address inet,
  user_agent text,
  -- the issuer, subject and session at the connection
  upstream jsonb,
  CHECK (idle_expires_at <= expires_at)
) WITH (fillfactor = 85);
-- the sessions of one user by sign-in: the oldest end when there are too many
CREATE INDEX sessions_user ON sessions (sub, auth_time DESC);
CREATE INDEX sessions_expiry ON sessions (idle_expires_at);
CREATE INDEX sessions_newest ON sessions (created_at DESC, id DESC);
CREATE INDEX sessions_newest_at_address ON sessions (address, created_at DESC, id DESC) WHERE address IS NOT NULL;
CREATE INDEX sessions_connection ON sessions (connection_id, sub) WHERE connection_id IS NOT NULL;
-- the sessions that a logout at a connection names
CREATE INDEX sessions_upstream ON sessions (connection_id, (upstream ->> 'sid')) WHERE connection_id IS NOT NULL;
CREATE INDEX sessions_form ON sessions (form_hash) WHERE form_hash IS NOT NULL;

CREATE TRIGGER sessions_end BEFORE DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION session_ends();
CREATE CONSTRAINT TRIGGER sessions_ended_by_sql AFTER DELETE ON sessions
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.idle_expires_at > now()) EXECUTE FUNCTION record_session_end_by_sql();

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
  auth_time timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  -- when nothing of this client session can be valid any more
  expires_at timestamptz NOT NULL,
  client_epoch integer NOT NULL,
  offline boolean NOT NULL,
  -- whether the user approved the authorization with the code of a device (RFC 8628)
  by_device boolean NOT NULL DEFAULT false,
  session_id bigint REFERENCES sessions ON DELETE CASCADE,
  client_id text NOT NULL,
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  sid text NOT NULL,
  scope text NOT NULL,
  amr text[] NOT NULL,
  -- the pairwise subject; null for the user's own sub
  subject text,
  -- the connection by which the user had signed in when the client was authorized: tokens can outlive the session
  connection_id text,
  nonce text,
  -- RFC 8707
  audience text[],
  -- the single claims and the acr that the authorization request named
  requested jsonb CHECK (jsonb_typeof(requested) = 'object'),
  -- the key of the session's refresh tokens, which they keep as long as they live
  cnf confirmation,
  -- The resources of an authorization, of which each token request names one: for each its `id` (none for a resource of this service), its `audience`
  -- and the granted `scope`. Null if the authorization is for none, or for one of this service.
  resources jsonb CHECK (jsonb_typeof(resources) = 'array'),
  -- the refresh token from which all usable refresh tokens come, after a spent one was used again; else null (security R121)
  line bytea,
  CHECK (session_id IS NOT NULL OR offline)
);
CREATE INDEX client_sessions_newest_of_session ON client_sessions (session_id, client_id, id);
CREATE INDEX client_sessions_client ON client_sessions (client_id, sub);
CREATE INDEX client_sessions_user ON client_sessions (sub);
CREATE INDEX client_sessions_expiry ON client_sessions (expires_at);
-- finds the client sessions that came by a connection, also those with offline_access whose browser's session is over (security R159)
CREATE INDEX client_sessions_connection ON client_sessions (connection_id, sub) WHERE connection_id IS NOT NULL;

-- Client-session handles that were never in a URL. An authorization code can also be a handle.
CREATE TABLE client_session_handles (
  handle_hash digest PRIMARY KEY,
  client_session_id bigint NOT NULL UNIQUE REFERENCES client_sessions ON DELETE CASCADE,
  issued_at timestamptz NOT NULL DEFAULT now(),
  cnf confirmation
);
CREATE INDEX client_session_handles_newest ON client_session_handles (issued_at);

-- Forms of the console that were sent with a sign-in that is too old, until the same user has confirmed it and has them back. They are sealed, since
-- they may hold secrets, and go with the session.
CREATE TABLE kept_forms (
  -- the digest of the id, in hex
  id text PRIMARY KEY,
  session_id bigint NOT NULL REFERENCES sessions ON DELETE CASCADE,
  sub text NOT NULL,
  sealed_encrypted bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX kept_forms_session ON kept_forms (session_id, created_at);
CREATE INDEX kept_forms_expiry ON kept_forms (expires_at);
CREATE INDEX kept_forms_key_id ON kept_forms (sealed_key_id(sealed_encrypted));

-- What a form made that its answer shows once, such as recovery codes, for the seconds in which a double click sends the form again. The values are
-- sealed. A row without a value belongs to a request that is still at work.
CREATE TABLE form_outcomes (
  -- the digest of the form, in hex
  id text PRIMARY KEY,
  sealed_encrypted bytea,
  expires_at timestamptz NOT NULL
);
CREATE INDEX form_outcomes_expiry ON form_outcomes (expires_at);
CREATE INDEX form_outcomes_key_id ON form_outcomes (sealed_key_id(sealed_encrypted));
