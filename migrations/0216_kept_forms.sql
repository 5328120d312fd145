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
