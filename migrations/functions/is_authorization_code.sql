-- Says whether the members of an authorization code fit: the code_challenge is one of S256, at most five redemptions failed, and a redeemed code has a time.
CREATE OR REPLACE FUNCTION is_authorization_code(code_challenge text, failures smallint, redemptions integer, redeemed_at timestamptz) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN (code_challenge IS NULL OR char_length(code_challenge) = 43) AND failures BETWEEN 0 AND 5 AND (redeemed_at IS NULL) = (redemptions = 0);
END $$;
