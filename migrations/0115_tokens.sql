-- Creates the tables of authorization codes, access tokens and refresh tokens. The keys to which they are bound are null for Bearer tokens (RFC 7800,
-- RFC 8705 3.1, RFC 9449 6.1).

-- The result of a redemption or a refresh: `failure` is null where tokens were issued.
CREATE TYPE token_answer AS (
  failure text, client_session_id bigint, client_id text, sub text, sid text, subject text, scope text, auth_time timestamptz, amr text[],
  nonce text, requested jsonb, issued_at timestamptz, burned boolean, rotated boolean,
  -- the lifetime of the access token in seconds, if the resource limits it
  access_seconds double precision,
  -- the `alg`, `audience` and `server` of an access token that becomes a JWT
  jwt jsonb
);

CREATE TABLE authorization_codes (
  code_hash digest PRIMARY KEY,
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
  -- the key by which the code must be redeemed
  cnf confirmation,
  CHECK ((redeemed_at IS NULL) = (redemptions = 0))
) WITH (fillfactor = 70);
CREATE INDEX authorization_codes_newest ON authorization_codes (issued_at);

CREATE TABLE access_tokens (
  issued_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  -- a token belongs to a client session, or (client credentials) to the client itself
  client_session_id bigint REFERENCES client_sessions ON DELETE CASCADE,
  client_epoch integer,
  client_id text,
  token_hash digest PRIMARY KEY,
  -- null for the scope of the client session
  scope text,
  -- RFC 8707; a token of a client session with several resources has one of its own
  audience text[],
  cnf confirmation,
  CHECK (num_nonnulls(client_session_id, client_id) = 1),
  CHECK ((client_id IS NULL) = (client_epoch IS NULL)),
  CHECK (client_id IS NULL OR scope IS NOT NULL)
);
CREATE INDEX access_tokens_client_session ON access_tokens (client_session_id) WHERE client_session_id IS NOT NULL;
CREATE INDEX access_tokens_client ON access_tokens (client_id) WHERE client_id IS NOT NULL;
CREATE INDEX access_tokens_expiry ON access_tokens (expires_at);
CREATE INDEX access_tokens_newest ON access_tokens (issued_at);

CREATE TABLE refresh_tokens (
  token_hash digest PRIMARY KEY,
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

-- The DPoP proofs of the last minutes, each of which counts once for all instances (RFC 9449 11.1). They form a ring of 16 tables: a proof is in the table
-- of the minute of its `iat`, and the service empties a table when no proof of its minute is accepted any more. The tables are unlogged: after a crash of
-- the database they are empty, and a proof may be used again until it is too old.
CREATE TABLE dpop_proofs (
  slot smallint NOT NULL,
  -- of the key and `jti`
  proof_hash bytea NOT NULL,
  PRIMARY KEY (slot, proof_hash)
) PARTITION BY LIST (slot);

DO $$
BEGIN
  FOR slot IN 0 .. 15 LOOP
    EXECUTE format('CREATE UNLOGGED TABLE dpop_proofs_%s PARTITION OF dpop_proofs FOR VALUES IN (%s) WITH (autovacuum_enabled = off)', slot, slot);
  END LOOP;
END $$;
