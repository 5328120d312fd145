-- Clients (relying parties and resource servers), their registered metadata, and what an administrator decided about them.

-- Epochs never repeat, so that a token of a deleted client stays dead when a client of the same name is registered later.
CREATE SEQUENCE client_epochs AS integer;

CREATE TABLE clients (
  client_id text PRIMARY KEY CHECK (client_id ~ '^[!-~]{1,255}$'),
  status text NOT NULL DEFAULT 'disabled' CHECK (status IN ('disabled', 'enabled')),
  -- increases with every change, so that an approval names the version that the administrator saw
  version integer NOT NULL DEFAULT 1,
  -- changes when the client is disabled: what was issued under an older epoch stays dead after the client is enabled again
  epoch integer NOT NULL DEFAULT nextval('client_epochs'),
  -- the registered metadata in force (RFC 7591), validated before it is stored
  metadata jsonb NOT NULL CHECK (
    jsonb_typeof(metadata) = 'object'
    AND jsonb_typeof(metadata -> 'redirect_uris') = 'array'
    AND jsonb_typeof(metadata -> 'grant_types') = 'array'
    AND jsonb_typeof(metadata -> 'response_types') = 'array'
    AND jsonb_typeof(metadata -> 'scope') = 'string'
    AND jsonb_typeof(metadata -> 'token_endpoint_auth_method') = 'string'
  ),
  -- an update that needs an approval waits here
  pending_metadata jsonb CHECK (jsonb_typeof(pending_metadata) = 'object'),
  client_secret_hash bytea CHECK (octet_length(client_secret_hash) = 32),
  -- stored only where the secret is an HMAC key
  client_secret_encrypted bytea,
  shared_secret_encrypted bytea NOT NULL,
  registration_access_token_hash bytea UNIQUE CHECK (octet_length(registration_access_token_hash) = 32),
  first_party boolean NOT NULL DEFAULT false,
  self_managed boolean NOT NULL DEFAULT false,
  introspect text NOT NULL DEFAULT 'own' CHECK (introspect IN ('own', 'any')),
  -- the authentication level that an administrator demands of this client's users; null for any
  required_acr text CHECK (length(required_acr) BETWEEN 1 AND 200),
  -- registered at /register, and not created by an administrator
  self_registered boolean NOT NULL DEFAULT false,
  -- true until the registrant of an approval-based registration collects the credentials: until then the client has none and stays disabled
  uncollected boolean NOT NULL DEFAULT false,
  -- an administrator, an initial access token, or the automatic approval of a test installation; null before any approval
  approved_by text CHECK (approved_by IN ('administrator', 'initial_access_token', 'automatic')),
  -- approved_by does not say this: a client can be inserted as enabled, and a client that an administrator created as disabled has approved_by
  ever_enabled boolean NOT NULL DEFAULT false,
  -- an administrator refused the registration; the registrant can read the reason
  refused_at timestamptz,
  refusal_reason text CHECK (char_length(refusal_reason) BETWEEN 1 AND 1000),
  -- lifetimes in seconds; null means the setting of the service
  authorization_code_lifetime integer CHECK (authorization_code_lifetime > 0),
  access_token_lifetime integer CHECK (access_token_lifetime > 0),
  refresh_token_lifetime integer CHECK (refresh_token_lifetime > 0),
  id_token_lifetime integer CHECK (id_token_lifetime > 0),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  updated_at timestamptz NOT NULL DEFAULT now(),
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
  )
);
-- the resource server of a URI
CREATE INDEX clients_resource_uris ON clients USING gin ((metadata -> 'resource_uris'));
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

-- The following functions have a high cost, so that no plan calls them for row after row where an index has the answer.

-- The host and port of each redirect URI, or the scheme of a native application's redirect URI, as the pages show them.
CREATE FUNCTION redirect_hosts(metadata jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 5000
RETURN ARRAY(
  SELECT DISTINCT left(coalesce(substring(uri FROM '^https?://([^/?#]+)'), substring(uri FROM '^[^:/?#]+:')), 255) COLLATE "C" AS host
    FROM jsonb_array_elements_text(metadata -> 'redirect_uris') AS uri
   WHERE uri ~ '^[^:/?#]+:'
   ORDER BY host);
CREATE INDEX clients_redirect_hosts ON clients USING gin (redirect_hosts(metadata)) WHERE status = 'enabled';

-- The words by which a search finds a client: its id, the words of its name, its redirect hosts, and the domains above them.
CREATE FUNCTION client_search_terms(client_id text, metadata jsonb) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 5000
RETURN array_to_tsvector(ARRAY(
  SELECT DISTINCT left(lower(normalize(term, NFKC)), 200)
    FROM (
      SELECT client_id
      UNION ALL
      SELECT regexp_split_to_table(metadata ->> 'client_name', '\s+')
      UNION ALL
      SELECT regexp_split_to_table(metadata ->> 'client_name', '[\s\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e]+')
      UNION ALL
      SELECT array_to_string(labels[first:], '.')
        FROM unnest(redirect_hosts(metadata)) AS host,
             regexp_split_to_array(host, '\.') AS labels,
             generate_series(1, greatest(cardinality(labels) - 1, 1)) AS first
    ) AS terms (term)
   WHERE term <> ''));
CREATE INDEX clients_search ON clients USING gin (client_search_terms(client_id, metadata));

-- A name reduced to what the eye sees: without accents, case, spaces and signs, and with one letter for letters that look the same (after
-- Unicode TR39).
CREATE FUNCTION name_skeleton(name text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN replace(replace(
  regexp_replace(
    lower(translate(normalize(name, NFKD),
      'аАвВеЕѕЅіІјЈкКмМнНоОрРсСтТуУхХԁԛԝһӏӀгпи' || 'αΑβΒγεΕζΖηΗιΙκΚμΜνΝοΟρΡσςτΤυΥχΧω' || 'ıłŁøØđĐħɑɡɩ' || 'օսոհցյ' || '0153iI|!',
      'aabbeesslljjkkmmhhooppccttyyxxdqwhllrnu' || 'aabbyeezznhllkkumvnoopposttuyxxw' || 'lllooddhagl' || 'ounhgj' || 'olsellll')),
    '[\u0300-\u036f\s\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e\u00a0-\u00bf\u2000-\u206f]+', '', 'g'),
  'rn', 'm'), 'vv', 'w');

-- The skeleton and, unless it is short, each result of leaving out one letter: two names that share one of these differ in one letter or less.
CREATE FUNCTION name_neighbours(name text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 5000
RETURN ARRAY(
  SELECT skeleton COLLATE "C" AS term FROM name_skeleton(name) AS skeleton WHERE skeleton <> ''
  UNION
  SELECT left(skeleton, n - 1) || substr(skeleton, n + 1)
    FROM name_skeleton(name) AS skeleton, generate_series(1, length(skeleton)) AS n
   WHERE length(skeleton) >= 5);
CREATE INDEX clients_look_alikes ON clients USING gin (name_neighbours(metadata ->> 'client_name')) WHERE status = 'enabled';

-- Redirect hosts of clients that an administrator approved, and since when. A row stays when its client is deleted.
CREATE TABLE known_redirect_hosts (
  host text PRIMARY KEY CHECK (char_length(host) BETWEEN 1 AND 255),
  since timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);

-- Client assertions that were used, until they expire (RFC 7523 section 3, jti)
CREATE TABLE used_assertions (
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  jti_hash bytea NOT NULL CHECK (octet_length(jti_hash) = 32),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (client_id, jti_hash)
);
CREATE INDEX used_assertions_expiry ON used_assertions (expires_at);
