-- What is made for people's sign-ins names its client without a foreign key, as tokens by client credentials do: it would lock the client's
-- row for each, and PostgreSQL would keep account of all who hold that lock at a time. What it kept is kept otherwise: nothing of these is
-- alive without its client at its epoch, and no epoch comes twice.
ALTER TABLE client_sessions DROP CONSTRAINT client_sessions_client_id_fkey;
ALTER TABLE session_clients DROP CONSTRAINT session_clients_client_id_fkey;
ALTER TABLE authorization_requests DROP CONSTRAINT authorization_requests_client_id_fkey;

CREATE OR REPLACE FUNCTION client_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM client_sessions WHERE client_id = OLD.client_id;
    DELETE FROM session_clients WHERE client_id = OLD.client_id;
    DELETE FROM authorization_requests WHERE client_id = OLD.client_id;
    DELETE FROM access_tokens WHERE client_id = OLD.client_id;
    PERFORM pg_notify('gatehouse', 'client ' || OLD.client_id);
    RETURN NULL;
  END IF;
  IF NEW.status = 'disabled' AND OLD.status = 'enabled' THEN
    DELETE FROM client_sessions WHERE client_id = NEW.client_id;
    DELETE FROM access_tokens WHERE client_id = NEW.client_id;
  END IF;
  PERFORM pg_notify('gatehouse', 'client ' || NEW.client_id);
  RETURN NULL;
END $$;
