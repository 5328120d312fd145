-- Creates the table of exchange policies (RFC 8693): which client gets which tokens in exchange for tokens of users.
CREATE TABLE exchange_policies (
  id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  name text NOT NULL UNIQUE CHECK (char_length(name) BETWEEN 1 AND 255),
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
  -- the client that may exchange; its policies go with it
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  -- the other clients whose tokens it may present
  subject_clients text[] NOT NULL DEFAULT '{}' CHECK (array_position(subject_clients, NULL) IS NULL),
  resources text[] NOT NULL CHECK (array_length(resources, 1) BETWEEN 1 AND 100),
  scopes text[] NOT NULL CHECK (array_length(scopes, 1) BETWEEN 1 AND 100),
  mode text NOT NULL DEFAULT 'delegate' CHECK (mode IN ('delegate', 'impersonate')),
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE INDEX exchange_policies_client ON exchange_policies (client_id, name);
CREATE INDEX exchange_policies_newest ON exchange_policies (created_at DESC, id DESC);

-- A token of an exchange belongs to the client session of the token that was presented, and to the client that exchanged it: its actors, the
-- pairwise subject for this client, and the policy. Null for every other token.
ALTER TABLE access_tokens ADD COLUMN exchange jsonb,
  ADD CONSTRAINT access_tokens_owner CHECK (client_session_id IS NULL OR client_id IS NULL OR exchange IS NOT NULL);
