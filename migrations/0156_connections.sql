-- Connections: places outside that say who a user is.
CREATE TABLE connections (
  id text PRIMARY KEY CHECK (id ~ '^[a-z][a-z0-9-]{1,39}$' AND id <> 'manual'),
  kind text NOT NULL CHECK (kind IN ('oidc', 'oauth', 'saml', 'ldap')),
  preset text,
  display_name text NOT NULL CHECK (char_length(display_name) BETWEEN 1 AND 100),
  status text NOT NULL DEFAULT 'disabled' CHECK (status IN ('enabled', 'disabled', 'link_only')),
  position integer NOT NULL DEFAULT 0,
  hidden boolean NOT NULL DEFAULT false,
  -- domains of addresses as A-labels: those that lead here, and those over which the connection has authority
  domains text[] NOT NULL DEFAULT '{}',
  subdomains boolean NOT NULL DEFAULT false,
  enforced boolean NOT NULL DEFAULT false,
  authoritative_domains text[] NOT NULL DEFAULT '{}',
  linking text NOT NULL DEFAULT 'ask' CHECK (linking IN ('never', 'ask', 'domain')),
  provisioning text NOT NULL DEFAULT 'off' CHECK (provisioning IN ('off', 'invited', 'on')),
  username_from text NOT NULL DEFAULT 'preferred_username',
  claim_rules jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(claim_rules) = 'array'),
  group_rules jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(group_rules) = 'array'),
  default_groups text[] NOT NULL DEFAULT '{}',
  sync text NOT NULL DEFAULT 'always' CHECK (sync IN ('first', 'always', 'never')),
  trust_mfa boolean NOT NULL DEFAULT false,
  mfa_values text[] NOT NULL DEFAULT '{}',
  -- in seconds; null for that of the service
  session_lifetime integer CHECK (session_lifetime > 0),
  logout text NOT NULL DEFAULT 'local' CHECK (logout IN ('local', 'propagate')),
  store_tokens boolean NOT NULL DEFAULT false,
  -- by kind
  settings jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(settings) = 'object'),
  secret_encrypted bytea CHECK (secret_encrypted IS NULL OR sealed_key_id(secret_encrypted) IS NOT NULL),
  secret_since timestamptz,
  -- what the other side last published, and when it was read
  discovery jsonb,
  discovered_at timestamptz,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  CHECK ((secret_encrypted IS NULL) = (secret_since IS NULL))
);
CREATE INDEX connections_secret_key_id ON connections (sealed_key_id(secret_encrypted));

-- Links: the user whom an identity is. An identity is (connection, issuer, subject), byte for byte (federation FR1).
CREATE TABLE linked_identities (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  connection_id text NOT NULL REFERENCES connections ON DELETE CASCADE,
  issuer text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL CHECK (octet_length(subject) BETWEEN 1 AND 255),
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  how text NOT NULL CHECK (how IN ('person', 'administrator', 'domain', 'provisioned', 'imported')),
  -- the address that the identity had when it was linked
  email_then text,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  last_used_at timestamptz,
  UNIQUE (connection_id, issuer, subject),
  UNIQUE (connection_id, sub)
);
CREATE INDEX linked_identities_user ON linked_identities (sub);

-- Users who removed their link: no address links them to this connection again (federation FR8).
CREATE TABLE removed_links (
  connection_id text NOT NULL REFERENCES connections ON DELETE CASCADE,
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  PRIMARY KEY (connection_id, sub)
);
CREATE INDEX removed_links_user ON removed_links (sub);

-- Sign-ins that are on their way by a connection, each bound to one browser, and used once: `request` until the answer comes, then what the
-- answer needs: the proof of an account, a user name, or the button that links.
CREATE TABLE connection_steps (
  -- the digest of the id, in hex
  id text PRIMARY KEY,
  step text NOT NULL,
  connection_id text NOT NULL,
  browser_hash bytea NOT NULL,
  network text,
  sealed_encrypted bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  expires_at timestamptz NOT NULL
);
CREATE INDEX connection_steps_browser ON connection_steps (browser_hash, created_at);
CREATE INDEX connection_steps_network ON connection_steps (network, expires_at) WHERE network IS NOT NULL;
CREATE INDEX connection_steps_expiry ON connection_steps (expires_at);
CREATE INDEX connection_steps_key_id ON connection_steps (sealed_key_id(sealed_encrypted));

-- The connection by which the user signed in, and the issuer, subject and session there.
ALTER TABLE sessions ADD COLUMN connection_id text, ADD COLUMN upstream jsonb;
CREATE INDEX sessions_connection ON sessions (connection_id, sub) WHERE connection_id IS NOT NULL;
