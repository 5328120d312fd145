-- Users whose address was stored before without the A-label of its domain. PostgreSQL has no IDNA, so the service tries each once, and each start
-- lists those that stay (security R158).
CREATE TABLE unstored_addresses (
  sub text PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  found_at timestamptz NOT NULL DEFAULT now(),
  tried_at timestamptz,
  -- the sub of the user, or the client, that the address in its stored form names already
  other text
);
CREATE INDEX unstored_addresses_left ON unstored_addresses (sub) WHERE tried_at IS NULL;
INSERT INTO unstored_addresses (sub) SELECT sub FROM users WHERE NOT has_a_label(email);
