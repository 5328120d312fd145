-- Creates the tables of clients (relying parties and resource servers), their registered metadata, and what an administrator decided about them.

-- Epochs never repeat, so that a token of a deleted client stays dead when a client of the same name is registered later.
CREATE SEQUENCE client_epochs AS integer;

CREATE TABLE clients (
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- changes when the client is disabled: what was issued under an older epoch stays dead after the client is enabled again
  epoch integer NOT NULL DEFAULT nextval('client_epochs'),
  -- increases with every change, so that an approval names the version that the administrator saw
  version integer NOT NULL DEFAULT 1,
  first_party boolean NOT NULL DEFAULT false,
  self_managed boolean NOT NULL DEFAULT false,
  -- registered at /register, and not created by an administrator
  self_registered boolean NOT NULL DEFAULT false,
  -- true until the registrant of an approval-based registration collects the credentials: until then the client has none and stays disabled
  uncollected boolean NOT NULL DEFAULT false,
  -- approved_by does not say this: a client can be inserted as enabled, and a client that an administrator created as disabled has approved_by
  ever_enabled boolean NOT NULL DEFAULT false,
  -- The document has been missing for a day, so users can authorize the client no longer. Its domain may get another owner: only an approval ends
  -- this.
  document_gone boolean NOT NULL DEFAULT false,
  start_hidden boolean NOT NULL DEFAULT false,
  -- an address may be longer than the ids that the service makes; a bound in the pattern could not exceed 255
  client_id text PRIMARY KEY CHECK (client_id ~ '^[!-~]+$' AND length(client_id) <= 512),
  status text NOT NULL DEFAULT 'disabled' CHECK (status IN ('disabled', 'enabled')),
  -- who may use it: everyone, or members of one of access_groups (federation 7)
  access text NOT NULL DEFAULT 'everyone' CHECK (access IN ('everyone', 'groups')),
  access_groups text[] NOT NULL DEFAULT '{}' CHECK (array_position(access_groups, NULL) IS NULL),
  -- by which connections users may sign in (federation 7): empty for every way to sign in. An id stays when its connection is deleted, so that a deletion
  -- opens no client.
  connections text[] NOT NULL DEFAULT '{}' CHECK (array_position(connections, NULL) IS NULL),
  introspect text NOT NULL DEFAULT 'own' CHECK (introspect IN ('own', 'any')),
  -- where the metadata comes from: from requests to this service, or from the document
  origin text NOT NULL DEFAULT 'service' CHECK (origin IN ('service', 'document')),
  -- the networks from which browsers and clients may act; empty for all
  networks cidr[] NOT NULL DEFAULT '{}' CHECK (array_position(networks, NULL) IS NULL),
  -- the connections whose tokens the client may read, with the scope upstream_token (federation 4)
  upstream_tokens text[] NOT NULL DEFAULT '{}' CHECK (array_position(upstream_tokens, NULL) IS NULL),
  -- lifetimes in seconds; null means the setting of the service
  authorization_code_lifetime integer CHECK (authorization_code_lifetime > 0),
  access_token_lifetime integer CHECK (access_token_lifetime > 0),
  refresh_token_lifetime integer CHECK (refresh_token_lifetime > 0),
  id_token_lifetime integer CHECK (id_token_lifetime > 0),
  -- the authentication level that an administrator demands of this client's users; null for any
  required_acr text CHECK (length(required_acr) BETWEEN 1 AND 200),
  -- an administrator, an initial access token, or the automatic approval of a test installation; null before any approval
  approved_by text CHECK (approved_by IN ('administrator', 'initial_access_token', 'automatic')),
  client_secret_hash bytea CHECK (octet_length(client_secret_hash) = 32),
  claim_rules jsonb CHECK (jsonb_typeof(claim_rules) = 'array' AND jsonb_array_length(claim_rules) BETWEEN 1 AND 50),
  -- the registered metadata in force (RFC 7591), validated before it is stored
  metadata jsonb NOT NULL CHECK (
    jsonb_typeof(metadata) = 'object'
    AND jsonb_typeof(metadata -> 'redirect_uris') = 'array'
    AND jsonb_typeof(metadata -> 'grant_types') = 'array'
    AND jsonb_typeof(metadata -> 'response_types') = 'array'
    AND jsonb_typeof(metadata -> 'scope') = 'string'
    AND jsonb_typeof(metadata -> 'token_endpoint_auth_method') = 'string'
  ),
  shared_secret_encrypted bytea NOT NULL,
  -- stored only where the secret is an HMAC key
  client_secret_encrypted bytea,
  registration_access_token_hash bytea UNIQUE CHECK (octet_length(registration_access_token_hash) = 32),
  start_uri text CHECK (start_uri ~ '^https://[^/?#@\s]+([/?][^#\s]*)?$' AND length(start_uri) <= 2000),
  -- an update that needs an approval waits here
  pending_metadata jsonb CHECK (jsonb_typeof(pending_metadata) = 'object'),
  -- an administrator refused the registration; the registrant can read the reason
  refused_at timestamptz,
  refusal_reason text CHECK (char_length(refusal_reason) BETWEEN 1 AND 1000),
  CHECK (client_secret_encrypted IS NULL OR client_secret_hash IS NOT NULL),
  -- the code lists the authentication methods: a new one needs no change of the schema
  CONSTRAINT clients_secret CHECK (
    metadata ->> 'token_endpoint_auth_method' NOT LIKE 'client\_secret\_%' OR client_secret_hash IS NOT NULL
  ),
  -- a comparison with a missing member is null, and a check that is null holds: so the members are required by name
  CONSTRAINT clients_metadata_members CHECK (
    metadata ?& ARRAY['redirect_uris', 'grant_types', 'response_types', 'scope', 'token_endpoint_auth_method']
  ),
  CONSTRAINT clients_refusal CHECK ((refused_at IS NULL) = (refusal_reason IS NULL)),
  CONSTRAINT clients_uncollected CHECK (
    NOT uncollected OR (status = 'disabled' AND registration_access_token_hash IS NULL)
  ),
  -- a value that no SECRET_KEY encrypted could never be read again
  CONSTRAINT clients_sealed CHECK (
    (shared_secret_encrypted IS NULL OR sealed_key_id(shared_secret_encrypted) IS NOT NULL)
    AND (client_secret_encrypted IS NULL OR sealed_key_id(client_secret_encrypted) IS NOT NULL)
  )
);
CREATE INDEX clients_key ON clients (login_key(client_id));
CREATE INDEX clients_uncollected ON clients (client_id) WHERE uncollected;
-- The lists of the console, newest first. Only a client that registered itself waits for an administrator. Counting what waits reads nothing
-- but an index.
CREATE INDEX clients_newest ON clients (created_at DESC, client_id DESC);
CREATE INDEX clients_newest_of_status ON clients (status, created_at DESC, client_id DESC);
CREATE INDEX clients_newest_self_registered ON clients (created_at DESC, client_id DESC) WHERE self_registered;
CREATE INDEX clients_waiting_registrations ON clients (created_at DESC, client_id DESC)
  WHERE self_registered AND status = 'disabled' AND approved_by IS NULL AND refused_at IS NULL;
CREATE INDEX clients_undecided ON clients (created_at DESC, client_id DESC)
  WHERE (self_registered AND status = 'disabled' AND approved_by IS NULL AND refused_at IS NULL) OR pending_metadata IS NOT NULL;
CREATE INDEX clients_never_approved ON clients (updated_at) WHERE self_registered AND status = 'disabled' AND approved_by IS NULL;
CREATE INDEX clients_redirect_hosts ON clients USING gin (redirect_hosts(metadata)) WHERE status = 'enabled';
CREATE INDEX clients_search ON clients USING gin (client_search_terms(client_id, metadata));
CREATE INDEX clients_look_alikes ON clients USING gin (name_neighbours(metadata ->> 'client_name')) WHERE status = 'enabled';
-- a group that is renamed or deleted
CREATE INDEX clients_access_groups ON clients USING gin (access_groups) WHERE access_groups <> '{}';
-- the clients that the start page can show
CREATE INDEX clients_start ON clients (client_id)
  WHERE status = 'enabled' AND NOT start_hidden AND (start_uri IS NOT NULL OR metadata ? 'initiate_login_uri');
-- each start reads which keys the stored values need, also of other tables
CREATE INDEX clients_shared_secret_key_id ON clients (sealed_key_id(shared_secret_encrypted));
CREATE INDEX clients_client_secret_key_id ON clients (sealed_key_id(client_secret_encrypted));

CREATE TRIGGER clients_1_decision BEFORE UPDATE OF status ON clients FOR EACH ROW EXECUTE FUNCTION client_decision();
CREATE TRIGGER clients_2_rules BEFORE INSERT OR UPDATE ON clients FOR EACH ROW EXECUTE FUNCTION client_rules();
CREATE TRIGGER clients_effects AFTER INSERT OR UPDATE OR DELETE ON clients FOR EACH ROW EXECUTE FUNCTION client_effects();
CREATE TRIGGER clients_keys AFTER INSERT OR UPDATE OR DELETE ON clients FOR EACH ROW EXECUTE FUNCTION keep_client_key();
CREATE CONSTRAINT TRIGGER clients_by_sql AFTER INSERT OR UPDATE OR DELETE ON clients
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_client_change_by_sql();

-- Redirect hosts of clients that an administrator approved, and since when. A row stays when its client is deleted.
CREATE TABLE known_redirect_hosts (
  host text PRIMARY KEY CHECK (char_length(host) BETWEEN 1 AND 255),
  since timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);

-- Pairs of clients whose names an administrator has found distinct enough. A row counts only while both clients have these names, and each pair has
-- a row in either direction.
CREATE TABLE dismissed_look_alikes (
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  name text NOT NULL,
  other_client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  other_name text NOT NULL,
  dismissed_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  PRIMARY KEY (client_id, other_client_id),
  CHECK (client_id <> other_client_id)
);
CREATE INDEX dismissed_look_alikes_other ON dismissed_look_alikes (other_client_id);

-- Client assertions that were used, until they expire (RFC 7523 section 3, jti)
CREATE TABLE used_assertions (
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  jti_hash bytea NOT NULL CHECK (octet_length(jti_hash) = 32),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (client_id, jti_hash)
);
CREATE INDEX used_assertions_expiry ON used_assertions (expires_at);
