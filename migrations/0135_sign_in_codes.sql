-- Codes by which users sign in from their email, each for the browser that asked for it (pages, code by email). A row of a name without an account has no
-- code, and nothing typed is right.
CREATE TABLE sign_in_codes (
  -- the digest of the browser's secret, in hex
  id text PRIMARY KEY,
  browser_hash bytea NOT NULL,
  sub text REFERENCES users ON DELETE CASCADE,
  -- the address to which it was sent
  email text,
  -- a keyed hash; null until the mail is sent
  code_hash bytea,
  tries integer NOT NULL DEFAULT 0,
  -- whether the user chose to stay signed in
  remember boolean NOT NULL DEFAULT false,
  expires_at timestamptz NOT NULL,
  CHECK ((sub IS NULL) = (code_hash IS NULL) AND (email IS NULL) = (code_hash IS NULL))
);
CREATE INDEX sign_in_codes_browser ON sign_in_codes (browser_hash);
CREATE INDEX sign_in_codes_user ON sign_in_codes (sub);
CREATE INDEX sign_in_codes_expiry ON sign_in_codes (expires_at);
