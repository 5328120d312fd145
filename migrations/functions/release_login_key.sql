-- Takes a key from a user. A user who shared it has it then.
CREATE OR REPLACE FUNCTION release_login_key(released text, holder text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  heir text;
BEGIN
  PERFORM FROM login_keys WHERE key = released FOR UPDATE;
  DELETE FROM shared_login_keys WHERE key = released AND sub = holder;
  IF FOUND THEN
    RETURN;
  END IF;
  DELETE FROM shared_login_keys s WHERE s.key = released
     AND s.sub = (SELECT min(other.sub) FROM shared_login_keys other WHERE other.key = released)
  RETURNING s.sub INTO heir;
  IF heir IS NULL THEN
    DELETE FROM login_keys WHERE key = released AND sub = holder AND NOT is_client;
  END IF;
  UPDATE login_keys SET sub = heir WHERE key = released AND sub = holder;
END $$;
