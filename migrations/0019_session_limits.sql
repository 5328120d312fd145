-- Limits of codes within a session, and the end of sessions whose user gains or loses the power of an administrator.

-- When the newest authorization responses of a session were issued, the oldest first: no more of them than the limit counts.
ALTER TABLE sessions ADD COLUMN codes_at timestamptz[] NOT NULL DEFAULT '{}';

-- Of the unredeemed codes of a session and a client the newest live. Whoever calls this holds the session's row, so codes are issued
-- one after another; and a function of its own sees what was committed while its caller waited for that row.
-- What is used as a client-session handle is as good as redeemed.
CREATE FUNCTION drop_surplus_codes(of_session bigint, of_client text, newest bigint, others integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM authorization_codes WHERE redeemed_at IS NULL AND activated_at IS NULL AND code_hash IN (
    SELECT ac.code_hash FROM client_sessions cs JOIN authorization_codes ac ON ac.client_session_id = cs.id
     WHERE cs.session_id = of_session AND cs.client_id = of_client AND cs.id <> newest
       AND ac.redeemed_at IS NULL AND ac.activated_at IS NULL AND ac.expires_at > now()
     ORDER BY cs.id DESC OFFSET others);
END $$;

-- The sessions of one user, by their sign-in: the oldest end when there are too many.
DROP INDEX sessions_user;
CREATE INDEX sessions_user ON sessions (sub, auth_time DESC);

-- Disabling a user ends all that is theirs. Becoming an administrator, or ceasing to be one, ends the sessions, whoever does it: no
-- cookie from before has another power than it was given (security R52), and no token for administrators outlives the change.
CREATE OR REPLACE FUNCTION user_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status = 'disabled' AND OLD.status = 'enabled' THEN
    DELETE FROM sessions WHERE sub = NEW.sub;
    DELETE FROM client_sessions WHERE sub = NEW.sub;
  ELSIF NEW.admin <> OLD.admin THEN
    DELETE FROM sessions WHERE sub = NEW.sub;
    DELETE FROM client_sessions WHERE sub = NEW.sub AND string_to_array(scope, ' ') && ARRAY['admin', 'metrics'];
  END IF;
  RETURN NULL;
END $$;
