-- Relying parties, their registration and what an administrator decided about them.
CREATE TABLE clients (
  client_id text PRIMARY KEY CHECK (client_id ~ '^[!-~]{1,255}$'),
  status text NOT NULL DEFAULT 'disabled' CHECK (status IN ('disabled', 'enabled')),
  -- rises with every change, so that an approval names what was looked at
  version integer NOT NULL DEFAULT 1,
  -- rises when the client is disabled: what was issued under an older epoch stays dead after it is enabled again
  epoch integer NOT NULL DEFAULT 0,
  -- the registered metadata in force (RFC 7591), validated before it is stored
  metadata jsonb NOT NULL CHECK (
    jsonb_typeof(metadata) = 'object'
    AND jsonb_typeof(metadata -> 'redirect_uris') = 'array'
    AND jsonb_typeof(metadata -> 'grant_types') = 'array'
    AND jsonb_typeof(metadata -> 'response_types') = 'array'
    AND jsonb_typeof(metadata -> 'scope') = 'string'
    AND metadata ->> 'token_endpoint_auth_method' IN
      ('client_secret_basic', 'client_secret_post', 'client_secret_jwt', 'private_key_jwt', 'none')
  ),
  -- an update that widens what was approved waits here
  pending_metadata jsonb CHECK (jsonb_typeof(pending_metadata) = 'object'),
  client_secret_hash bytea CHECK (octet_length(client_secret_hash) = 32),
  -- only where the secret is an HMAC key
  client_secret_encrypted bytea,
  shared_secret_encrypted bytea NOT NULL,
  registration_access_token_hash bytea UNIQUE CHECK (octet_length(registration_access_token_hash) = 32),
  first_party boolean NOT NULL DEFAULT false,
  self_managed boolean NOT NULL DEFAULT false,
  introspect text NOT NULL DEFAULT 'own' CHECK (introspect IN ('own', 'any')),
  -- who let it in: nobody yet, an administrator, an initial access token, or the automatic approval of a test bed
  approved_by text CHECK (approved_by IN ('administrator', 'initial_access_token', 'automatic')),
  -- lifetimes in seconds; null means the service's setting
  authorization_code_lifetime integer CHECK (authorization_code_lifetime > 0),
  access_token_lifetime integer CHECK (access_token_lifetime > 0),
  refresh_token_lifetime integer CHECK (refresh_token_lifetime > 0),
  id_token_lifetime integer CHECK (id_token_lifetime > 0),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK (client_secret_encrypted IS NULL OR client_secret_hash IS NOT NULL),
  CHECK (
    metadata ->> 'token_endpoint_auth_method' IN ('none', 'private_key_jwt') OR client_secret_hash IS NOT NULL
  )
);
CREATE INDEX clients_newest ON clients (created_at DESC, client_id DESC);
CREATE INDEX clients_waiting ON clients (created_at DESC, client_id DESC) WHERE status = 'disabled' AND approved_by IS NULL;

-- Assertions that were used, until they expire (RFC 7523 section 3, jti)
CREATE TABLE used_assertions (
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  jti_hash bytea NOT NULL CHECK (octet_length(jti_hash) = 32),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (client_id, jti_hash)
);
CREATE INDEX used_assertions_expiry ON used_assertions (expires_at);

CREATE TABLE initial_access_tokens (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  expires_at timestamptz NOT NULL
);
CREATE INDEX initial_access_tokens_expiry ON initial_access_tokens (expires_at);

-- A registration whose answer may have been lost is found again by its Idempotency-Key
CREATE TABLE registration_keys (
  key_hash bytea PRIMARY KEY CHECK (octet_length(key_hash) = 32),
  body_hash bytea NOT NULL CHECK (octet_length(body_hash) = 32),
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  expires_at timestamptz NOT NULL
);
CREATE INDEX registration_keys_client ON registration_keys (client_id);
CREATE INDEX registration_keys_expiry ON registration_keys (expires_at);
