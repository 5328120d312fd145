-- Creates the table of the single-use links in mails, stored as digests.
CREATE TABLE mailed_links (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  purpose text NOT NULL CHECK (purpose IN ('verify_address', 'stop_change', 'reset_password', 'recovery', 'sign_up', 'invitation')),
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
  -- an invitation has an address if it was mailed, and none if an administrator hands it over
  CHECK ((sub IS NULL) = (purpose = 'sign_up') AND (purpose = 'invitation' OR (email IS NULL) = (purpose = 'recovery')))
);
CREATE INDEX mailed_links_user ON mailed_links (sub);
CREATE INDEX mailed_links_expiry ON mailed_links (expires_at);
