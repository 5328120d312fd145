-- Renews the device cookie of the browser in which a user signed in, for all its users. Only the user's `most` most recently used browsers stay.
-- Returns whether the browser was known before.
CREATE FUNCTION {{remember_browser}}(whose text, new_token bytea, previous bytea, seconds double precision, most integer) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  was_known boolean := false;
BEGIN
  IF previous IS NOT NULL THEN
    DELETE FROM known_browsers WHERE token_hash = previous AND sub = whose RETURNING expires_at > now() INTO was_known;
    UPDATE known_browsers SET token_hash = new_token WHERE token_hash = previous;
  END IF;
  INSERT INTO known_browsers (token_hash, sub, expires_at) VALUES (new_token, whose, now() + make_interval(secs => seconds));
  DELETE FROM known_browsers WHERE sub = whose AND used_at < (
    SELECT used_at FROM known_browsers WHERE sub = whose ORDER BY used_at DESC OFFSET most - 1 LIMIT 1);
  RETURN coalesce(was_known, false);
END $$;
