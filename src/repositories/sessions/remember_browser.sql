-- Renews the device cookie of the browser in which a user signed in, for all its users. Only the `max_browsers` most recently used browsers of the user
-- stay. Returns whether the browser was known before.
CREATE FUNCTION {{remember_browser}}(
  user_sub text, new_token_hash bytea, previous_token_hash bytea, lifetime_seconds double precision, max_browsers integer
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  was_known boolean := false;
BEGIN
  IF previous_token_hash IS NOT NULL THEN
    DELETE FROM known_browsers WHERE token_hash = previous_token_hash AND sub = user_sub RETURNING expires_at > now() INTO was_known;
    UPDATE known_browsers SET token_hash = new_token_hash WHERE token_hash = previous_token_hash;
  END IF;
  INSERT INTO known_browsers (token_hash, sub, expires_at)
    VALUES (new_token_hash, user_sub, now() + make_interval(secs => lifetime_seconds));
  DELETE FROM known_browsers WHERE sub = user_sub AND used_at < (
    SELECT used_at FROM known_browsers WHERE sub = user_sub ORDER BY used_at DESC OFFSET max_browsers - 1 LIMIT 1);
  RETURN coalesce(was_known, false);
END $$;
