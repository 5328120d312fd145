-- Tokens by client credentials name their client without a foreign key: it would lock the client's row for each of them, and the
-- tokens of one client would wait for each other. What it kept is kept otherwise: a token is dead without its client at its epoch,
-- and no epoch comes twice, so that a token that was stored while its client went stays dead should the name come back.
CREATE SEQUENCE client_epochs AS integer;
SELECT setval('client_epochs', (SELECT coalesce(max(epoch), 0) + 1 FROM clients));
ALTER TABLE clients ALTER COLUMN epoch SET DEFAULT nextval('client_epochs');
ALTER TABLE access_tokens DROP CONSTRAINT access_tokens_client_id_fkey;

CREATE OR REPLACE FUNCTION client_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status = 'disabled' AND OLD.status = 'enabled' THEN
    NEW.epoch := nextval('client_epochs');
  END IF;
  IF NEW.status = 'enabled' AND NEW.approved_by IS NULL THEN
    NEW.approved_by := 'administrator';
  END IF;
  IF current_setting('gatehouse.reencrypt', true) IS NOT DISTINCT FROM 'on' THEN
    RETURN NEW;
  END IF;
  IF (to_jsonb(NEW) - 'version' - 'updated_at') IS DISTINCT FROM (to_jsonb(OLD) - 'version' - 'updated_at') THEN
    NEW.version := OLD.version + 1;
    NEW.updated_at := now();
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION client_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
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
