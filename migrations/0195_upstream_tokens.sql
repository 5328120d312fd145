-- What a connection gave at the last sign-in of a linked user: the ID Token for a logout there, and the tokens for clients that may read them.
CREATE TABLE upstream_tokens (
  -- random, and new with each value
  id text PRIMARY KEY,
  link_id bigint NOT NULL UNIQUE REFERENCES linked_identities ON DELETE CASCADE,
  sealed_encrypted bytea NOT NULL CHECK (sealed_key_id(sealed_encrypted) IS NOT NULL),
  updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE INDEX upstream_tokens_key_id ON upstream_tokens (sealed_key_id(sealed_encrypted));

-- Logout tokens of connections that were used, until none of their age is accepted (OpenID Connect Back-Channel Logout 2.6).
CREATE TABLE used_logout_tokens (
  connection_id text NOT NULL REFERENCES connections ON DELETE CASCADE,
  jti_hash bytea NOT NULL CHECK (octet_length(jti_hash) = 32),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (connection_id, jti_hash)
);
CREATE INDEX used_logout_tokens_expiry ON used_logout_tokens (expires_at);

-- the sessions that a logout at a connection names
CREATE INDEX sessions_upstream ON sessions (connection_id, (upstream ->> 'sid')) WHERE connection_id IS NOT NULL;

-- the connections whose tokens the client may read, with the scope upstream_token (federation 4)
ALTER TABLE clients ADD COLUMN upstream_tokens text[] NOT NULL DEFAULT '{}' CHECK (array_position(upstream_tokens, NULL) IS NULL);
