-- Authorization codes, access tokens and refresh tokens.

-- The result of a redemption or a refresh: `failure` is null where tokens were issued.
CREATE TYPE token_answer AS (
  failure text, client_session_id bigint, client_id text, sub text, sid text, subject text, scope text, auth_time timestamptz, amr text[],
  nonce text, requested jsonb, issued_at timestamptz, burned boolean, rotated boolean
);

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
  -- the first use of a code as a client-session handle, within a minute, keeps it alive as one; the first use of a fresh handle retires it
  activated_at timestamptz,
  retired_at timestamptz,
  CHECK ((redeemed_at IS NULL) = (redemptions = 0))
) WITH (fillfactor = 70);
CREATE INDEX authorization_codes_newest ON authorization_codes (issued_at);

CREATE TABLE access_tokens (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  -- a token belongs to a client session, or (client credentials) to the client itself
  client_session_id bigint REFERENCES client_sessions ON DELETE CASCADE,
  client_id text,
  client_epoch integer,
  -- null for the scope of the client session
  scope text,
  -- RFC 8707
  audience text[],
  issued_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  CHECK (num_nonnulls(client_session_id, client_id) = 1),
  CHECK ((client_id IS NULL) = (client_epoch IS NULL)),
  CHECK (client_id IS NULL OR scope IS NOT NULL),
  CONSTRAINT access_tokens_audience CHECK (audience IS NULL OR client_id IS NOT NULL)
);
CREATE INDEX access_tokens_client_session ON access_tokens (client_session_id) WHERE client_session_id IS NOT NULL;
CREATE INDEX access_tokens_client ON access_tokens (client_id) WHERE client_id IS NOT NULL;
CREATE INDEX access_tokens_expiry ON access_tokens (expires_at);
CREATE INDEX access_tokens_newest ON access_tokens (issued_at);

CREATE TABLE refresh_tokens (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  client_session_id bigint NOT NULL REFERENCES client_sessions ON DELETE CASCADE,
  -- the refresh token for which this one was issued; null for the first one of an authorization
  parent bytea,
  generation integer NOT NULL CHECK (generation >= 1),
  issued_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  -- a spent token stays stored; the number of its uses decides about the grace
  spent_at timestamptz,
  uses integer NOT NULL DEFAULT 0 CHECK (uses >= 0),
  CHECK ((spent_at IS NULL) = (uses = 0))
) WITH (fillfactor = 70);
CREATE INDEX refresh_tokens_client_session ON refresh_tokens (client_session_id);
CREATE INDEX refresh_tokens_expiry ON refresh_tokens (expires_at);
CREATE INDEX refresh_tokens_newest ON refresh_tokens (issued_at);
