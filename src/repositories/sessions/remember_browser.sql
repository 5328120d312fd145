-- Renews the device cookie of the browser in which a user signed in, for all its users. Only the `max_browsers` most recently used browsers of the user
-- stay. It spares a second factor for as long as before, or for `second_factor_seconds` from now on (null to leave it). Returns whether the browser
-- was known before. The session that begins there, or null, gets the name that the user gave the browser.
CREATE FUNCTION {{remember_browser}}(
  user_sub text, new_token_hash bytea, previous_token_hash bytea, lifetime_seconds double precision, max_browsers integer,
  second_factor_seconds double precision, new_session_id bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  was_known boolean := false;
  spares_until timestamptz;
  shown text[];
  given_name text;
  last_session_id bigint;
BEGIN
  IF previous_token_hash IS NOT NULL THEN
    DELETE FROM known_browsers WHERE token_hash = previous_token_hash AND sub = user_sub
      RETURNING expires_at > now(), second_factor_until, second_factors, name, session_id
      INTO was_known, spares_until, shown, given_name, last_session_id;
    UPDATE known_browsers SET token_hash = new_token_hash WHERE token_hash = previous_token_hash;
  END IF;
  IF second_factor_seconds IS NOT NULL THEN
    spares_until := now() + make_interval(secs => second_factor_seconds);
    shown := ARRAY(SELECT f.id FROM second_factors f WHERE f.sub = user_sub ORDER BY f.id);
  END IF;
  INSERT INTO known_browsers (token_hash, sub, expires_at, second_factor_until, second_factors, name, session_id)
    VALUES (new_token_hash, user_sub, now() + make_interval(secs => lifetime_seconds), spares_until, shown, given_name,
            coalesce(new_session_id, last_session_id));
  IF given_name IS NOT NULL AND new_session_id IS NOT NULL THEN
    UPDATE sessions SET browser_name = given_name WHERE id = new_session_id;
  END IF;
  DELETE FROM known_browsers WHERE sub = user_sub AND used_at < (
    SELECT used_at FROM known_browsers WHERE sub = user_sub ORDER BY used_at DESC OFFSET max_browsers - 1 LIMIT 1);
  RETURN coalesce(was_known, false);
END $$;
