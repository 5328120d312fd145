-- Stores a session, or renews one of the same user, which keeps its sid. It locks the user's row first, which serializes the user's sign-ins and changes
-- of the password: each sees what the earlier ones stored. Returns NULL when the user may not sign in with this password.
CREATE FUNCTION {{store_session}}(
  new_token bytea, new_sid text, whose text, shown_password text, methods text[], idle_seconds double precision, seconds double precision,
  agent text, place inet, shown_at timestamptz, renewed bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  made bigint;
  idle_end timestamptz := now() + make_interval(secs => least(idle_seconds, seconds));
BEGIN
  PERFORM FROM users WHERE sub = whose AND status = 'enabled' AND (shown_password IS NULL OR password_hash = shown_password)
    FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF renewed IS NULL THEN
    INSERT INTO sessions (token_hash, sid, sub, auth_time, amr, idle_expires_at, expires_at, user_agent, address)
      VALUES (new_token, new_sid, whose, coalesce(shown_at, clock_timestamp()), methods, idle_end, now() + make_interval(secs => seconds),
              agent, place)
      RETURNING id INTO made;
  ELSE
    -- a password that was checked earlier does not extend the session
    UPDATE sessions SET token_hash = new_token, auth_time = coalesce(shown_at, clock_timestamp()), amr = methods, used_at = now(),
           idle_expires_at = CASE WHEN shown_at IS NULL THEN idle_end ELSE least(idle_end, expires_at) END,
           expires_at = CASE WHEN shown_at IS NULL THEN now() + make_interval(secs => seconds) ELSE expires_at END,
           user_agent = agent, address = place
     WHERE id = renewed AND sub = whose
    RETURNING id INTO made;
  END IF;
  RETURN made;
END $$;
