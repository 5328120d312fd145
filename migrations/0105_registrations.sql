-- Creates the tables of dynamic registration: initial access tokens, repeated requests, and registrations that an administrator approves first.
CREATE TABLE initial_access_tokens (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  expires_at timestamptz NOT NULL
);
CREATE INDEX initial_access_tokens_expiry ON initial_access_tokens (expires_at);

-- A registration whose response may have been lost is found again by its Idempotency-Key
CREATE TABLE registration_keys (
  key_hash bytea PRIMARY KEY CHECK (octet_length(key_hash) = 32),
  body_hash bytea NOT NULL CHECK (octet_length(body_hash) = 32),
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  expires_at timestamptz NOT NULL
);
CREATE INDEX registration_keys_client ON registration_keys (client_id);
CREATE INDEX registration_keys_expiry ON registration_keys (expires_at);

-- Registrations in approval mode (draft-dellaert-oauth-approval-based-dcr): approved first, credentials collected afterwards. Each has two codes:
-- the registrant polls with one, an administrator finds the registration by the other. A transaction that changes the row of an existing client
-- locks the client's row first.
CREATE TABLE deferred_registrations (
  registration_code_hash bytea PRIMARY KEY CHECK (octet_length(registration_code_hash) = 32),
  -- keyed with SECRET_KEY: eight letters alone could be guessed from a digest
  verification_code_hash bytea NOT NULL UNIQUE CHECK (octet_length(verification_code_hash) = 32),
  -- null once the client is deleted: until this row is deleted too, the registrant learns that the registration expired
  client_id text UNIQUE REFERENCES clients ON DELETE SET NULL,
  -- where the registration came from
  address inet,
  -- seconds between two polls, and the time of the next one
  poll_interval integer NOT NULL CHECK (poll_interval > 0),
  next_poll_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  expires_at timestamptz NOT NULL
);
CREATE INDEX deferred_registrations_expiry ON deferred_registrations (expires_at);
