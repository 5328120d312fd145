-- Creates the tables of second factors of users. The table of each kind inherits from second_factors, which has no rows of its own: queries for a user's second
-- factors read it, so that a new kind needs only its own table (security R127):
--   CREATE TABLE a_kind (… its own columns …) INHERITS (second_factors);
CREATE TABLE second_factors (
  id text NOT NULL,
  sub text NOT NULL,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  used_at timestamptz,
  CHECK (false) NO INHERIT
);

-- Authenticator applications, which show time-based codes (RFC 6238)
CREATE TABLE authenticators (
  id text PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64),
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  -- chosen by the user; may be empty
  name text NOT NULL CHECK (length(name) <= 60),
  secret_encrypted bytea NOT NULL CONSTRAINT authenticators_sealed CHECK (sealed_key_id(secret_encrypted) IS NOT NULL),
  -- the time step of the last accepted code: neither that code nor an earlier one is accepted again (RFC 6238 5.2)
  last_step bigint NOT NULL
) INHERITS (second_factors);
CREATE INDEX authenticators_user ON authenticators (sub);
CREATE INDEX authenticators_key_id ON authenticators (sealed_key_id(secret_encrypted));

-- The name of an account for passkeys. It is not the sub: clients receive the sub, an import chooses it, and it may be longer than the 64 bytes
-- of a user handle (Web Authentication 5.4.3, 14.6.1).
CREATE TABLE passkey_users (
  sub text PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  user_handle bytea NOT NULL CHECK (octet_length(user_handle) = 64)
);

-- Passkeys (Web Authentication Level 3), with which a user signs in beside or instead of a password
CREATE TABLE passkeys (
  -- its name in forms and for administrators
  id text PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64),
  credential_id bytea NOT NULL UNIQUE CHECK (octet_length(credential_id) BETWEEN 16 AND 1023),
  sub text NOT NULL REFERENCES passkey_users ON DELETE CASCADE,
  -- a COSE_Key (RFC 9052 7); public, so it is stored in clear
  public_key bytea NOT NULL,
  -- always 0 where the authenticator does not count, as with synchronized passkeys
  sign_count bigint NOT NULL CHECK (sign_count BETWEEN 0 AND 4294967295),
  transports text[] NOT NULL DEFAULT '{}',
  aaguid uuid NOT NULL,
  backup_eligible boolean NOT NULL,
  backed_up boolean NOT NULL,
  -- chosen by the user; may be empty
  name text NOT NULL CHECK (length(name) <= 60)
) INHERITS (second_factors);
CREATE INDEX passkeys_user ON passkeys (sub, created_at DESC, id DESC);
CREATE CONSTRAINT TRIGGER passkeys_by_sql AFTER INSERT OR DELETE ON passkeys
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_passkey_change_by_sql();

-- Passkey challenges that were used, until they expire: a challenge itself is sealed and not stored
CREATE TABLE used_challenges (
  challenge_hash bytea PRIMARY KEY CHECK (octet_length(challenge_hash) = 32),
  expires_at timestamptz NOT NULL
);
CREATE INDEX used_challenges_expiry ON used_challenges (expires_at);

-- Recovery codes, for a user who lost the second factors; a used code is deleted
CREATE TABLE recovery_codes (
  code_hash bytea PRIMARY KEY CHECK (octet_length(code_hash) = 32),
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE INDEX recovery_codes_user ON recovery_codes (sub);
