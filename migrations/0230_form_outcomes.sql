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
