-- Keeps the key of a client_id: it names no user, and client ids may differ by case alone (security R153).
CREATE OR REPLACE FUNCTION keep_client_key() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  released text := login_key(OLD.client_id);
BEGIN
  IF OLD.client_id = NEW.client_id THEN
    RETURN NULL;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO login_keys AS k (key, is_client) VALUES (login_key(NEW.client_id), true)
      ON CONFLICT (key) DO UPDATE SET is_client = true WHERE k.sub IS NULL;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'a client_id is a user name, an address or a sub'
        USING ERRCODE = 'unique_violation', CONSTRAINT = 'login_keys_pkey', TABLE = 'login_keys';
    END IF;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    PERFORM FROM login_keys WHERE key = released FOR UPDATE;
    IF NOT EXISTS (SELECT FROM clients WHERE login_key(client_id) = released) THEN
      DELETE FROM login_keys WHERE key = released AND sub IS NULL;
      UPDATE login_keys SET is_client = false WHERE key = released;
    END IF;
  END IF;
  RETURN NULL;
END $$;
