-- Creates the table of connected servers: authorization servers for which this service signs ID-JAGs about its users
-- (draft-ietf-oauth-identity-assertion-authz-grant).
CREATE TABLE connected_servers (
  id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  name text NOT NULL UNIQUE CHECK (char_length(name) BETWEEN 1 AND 255),
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
  issuer text COLLATE "C" NOT NULL UNIQUE CHECK (char_length(issuer) BETWEEN 1 AND 2000),
  -- each with its `client` here, its `id` there, and the `scopes` and `groups` for which it gets ID-JAGs
  clients jsonb NOT NULL CHECK (jsonb_typeof(clients) = 'array'),
  resources text[] NOT NULL DEFAULT '{}',
  subject text NOT NULL DEFAULT 'public' CHECK (subject IN ('public', 'pairwise')),
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE INDEX connected_servers_newest ON connected_servers (created_at DESC, id DESC);
