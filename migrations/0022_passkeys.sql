-- Passkeys (Web Authentication Level 3): what people sign in with beside or instead of a password.

-- The name by which authenticators know an account. It is no sub: that one is told to clients, is chosen by whoever imports people, and may be
-- longer than the 64 bytes that a user handle has (Web Authentication 5.4.3, 14.6.1).
CREATE TABLE passkey_users (
  sub text PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  user_handle bytea NOT NULL CHECK (octet_length(user_handle) = 64)
);

CREATE TABLE passkeys (
  -- the name by which forms and administrators know it
  id text PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64),
  credential_id bytea NOT NULL UNIQUE CHECK (octet_length(credential_id) BETWEEN 16 AND 1023),
  sub text NOT NULL REFERENCES passkey_users ON DELETE CASCADE,
  -- a COSE_Key (RFC 9052 7); public, so it is stored as it is
  public_key bytea NOT NULL,
  -- 0 for good where the authenticator keeps none, as those do that are synchronized
  sign_count bigint NOT NULL CHECK (sign_count BETWEEN 0 AND 4294967295),
  transports text[] NOT NULL DEFAULT '{}',
  aaguid uuid NOT NULL,
  backup_eligible boolean NOT NULL,
  backed_up boolean NOT NULL,
  -- by the person; empty for none
  name text NOT NULL CHECK (length(name) <= 60),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  used_at timestamptz
);
CREATE INDEX passkeys_user ON passkeys (sub, created_at DESC, id DESC);

-- Challenges are sealed and kept by nobody; one that was answered stands here until it is too old to be answered again.
CREATE TABLE used_challenges (
  challenge_hash bytea PRIMARY KEY CHECK (octet_length(challenge_hash) = 32),
  expires_at timestamptz NOT NULL
);
CREATE INDEX used_challenges_expiry ON used_challenges (expires_at);

-- One that comes or goes by SQL is recorded as such (migration 0016), unless it goes with its user.
CREATE FUNCTION passkey_act_by_sql() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  subject text := CASE TG_OP WHEN 'DELETE' THEN OLD.sub ELSE NEW.sub END;
  act text := CASE TG_OP WHEN 'DELETE' THEN 'user.second_factor_removed' ELSE 'user.second_factor_added' END;
BEGIN
  IF NOT EXISTS (
    SELECT FROM audit_events WHERE sub = subject AND at = now() AND xmin = pg_current_xact_id()::xid
       AND (actor IS DISTINCT FROM 'sql' OR type <> act)) THEN
    INSERT INTO audit_events (type, outcome, actor, sub, detail) VALUES (act, 'success', 'sql', subject,
      jsonb_build_object('database_role', session_user, 'kind', 'passkey'));
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER passkeys_by_sql AFTER INSERT OR DELETE ON passkeys
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION passkey_act_by_sql();
