-- Creates the tables of connections, places outside that say who a user is, and of what comes by them.
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
  -- how it names the users that it makes: by the part of the value before the @, and with a number where the name is taken
  username_from text NOT NULL DEFAULT 'preferred_username',
  username_local_part boolean NOT NULL DEFAULT false,
  username_suffix boolean NOT NULL DEFAULT false,
  -- whether its word that an address is verified makes it confirmed for applications
  trust_email boolean NOT NULL DEFAULT false,
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
  -- the key by which it authenticates at the other side (private_key_jwt), of which this service publishes the public half
  key_encrypted bytea CHECK (key_encrypted IS NULL OR sealed_key_id(key_encrypted) IS NOT NULL),
  key_public jsonb,
  key_since timestamptz,
  -- what the other side last published, and when it was read
  discovery jsonb,
  discovered_at timestamptz,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  CHECK ((secret_encrypted IS NULL) = (secret_since IS NULL)),
  CHECK ((key_encrypted IS NULL) = (key_public IS NULL)),
  CHECK ((key_encrypted IS NULL) = (key_since IS NULL))
);
CREATE INDEX connections_secret_key_id ON connections (sealed_key_id(secret_encrypted));
CREATE INDEX connections_key_key_id ON connections (sealed_key_id(key_encrypted));

-- A domain belongs to one connection: as a route of the sign-in page, and as a domain whose addresses the connection confirms (federation 4). The lists
-- of connections are what requests read; these rows keep two connections from listing the same domain.
CREATE TABLE connection_domains (
  purpose text NOT NULL CHECK (purpose IN ('route', 'authority')),
  domain text COLLATE "C" NOT NULL,
  connection_id text NOT NULL REFERENCES connections ON DELETE CASCADE,
  PRIMARY KEY (purpose, domain)
);
CREATE INDEX connection_domains_connection ON connection_domains (connection_id);

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
  -- the last address that it had and that was not taken over, so that each such move is told once
  email_last text,
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
