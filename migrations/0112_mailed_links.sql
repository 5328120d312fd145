-- The single-use links in mails, stored as digests.
CREATE TABLE mailed_links (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  purpose text NOT NULL CHECK (purpose IN ('verify_address', 'stop_change', 'reset_password', 'recovery', 'sign_up')),
  -- null for a visitor without an account
  sub text REFERENCES users ON DELETE CASCADE,
  -- the address to which the link was sent, and which it proves; null for a link that an administrator hands over
  email text,
  -- the address that the account had then
  replaces text,
  -- the session that ordered a change of the address; null for any other link
  session_id bigint,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  CHECK ((sub IS NULL) = (purpose = 'sign_up') AND (email IS NULL) = (purpose = 'recovery'))
);
CREATE INDEX mailed_links_user ON mailed_links (sub);
CREATE INDEX mailed_links_expiry ON mailed_links (expires_at);
