-- Gives a key to a user, or refuses it since it is that of another user or of a client. A key that two users share already is exempt.
CREATE OR REPLACE FUNCTION claim_login_key(claimed text, claimant text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  held login_keys;
BEGIN
  LOOP
    INSERT INTO login_keys (key, sub) VALUES (claimed, claimant) ON CONFLICT DO NOTHING;
    IF FOUND THEN
      RETURN;
    END IF;
    SELECT * INTO held FROM login_keys WHERE key = claimed FOR UPDATE;
    -- else its user has just given it up
    EXIT WHEN FOUND;
  END LOOP;
  IF held.sub = claimant THEN
    RETURN;
  END IF;
  IF NOT held.is_client AND NOT EXISTS (
    SELECT FROM users u WHERE u.sub IN (held.sub, claimant) AND claimed IN (login_key(u.username), login_key(u.email))) THEN
    INSERT INTO shared_login_keys (key, sub) VALUES (claimed, claimant) ON CONFLICT DO NOTHING;
    RETURN;
  END IF;
  -- names neither of the two
  RAISE EXCEPTION 'a user name, an address, a sub or a client_id is already in use'
    USING ERRCODE = 'unique_violation', CONSTRAINT = 'login_keys_pkey', TABLE = 'login_keys';
END $$;
