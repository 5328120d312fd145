-- Says whether the members of a refresh token fit: generations count from 1, and a spent token was used.
CREATE OR REPLACE FUNCTION is_refresh_token(generation integer, uses integer, spent_at timestamptz) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN generation >= 1 AND uses >= 0 AND (spent_at IS NULL) = (uses = 0);
END $$;
