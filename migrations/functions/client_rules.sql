-- Keeps what follows from the other columns of a client: epoch, approved_by, ever_enabled, secret_since, version. The name of its trigger sorts after
-- clients_1_decision, whose result it reads.
CREATE OR REPLACE FUNCTION client_rules() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    NEW.ever_enabled := NEW.ever_enabled OR NEW.status = 'enabled';
    NEW.secret_since := CASE WHEN NEW.client_secret_hash IS NOT NULL THEN date_trunc('milliseconds', now()) END;
    PERFORM check_client_resources(NEW, NULL);
    RETURN NEW;
  END IF;
  NEW.ever_enabled := NEW.ever_enabled OR OLD.ever_enabled OR NEW.status = 'enabled';
  IF NEW.client_secret_hash IS DISTINCT FROM OLD.client_secret_hash THEN
    NEW.secret_since := CASE WHEN NEW.client_secret_hash IS NOT NULL THEN date_trunc('milliseconds', now()) END;
  END IF;
  IF NEW.status = 'disabled' AND OLD.status = 'enabled' THEN
    NEW.epoch := nextval('client_epochs');
  END IF;
  IF NEW.status = 'enabled' AND NEW.approved_by IS NULL THEN
    NEW.approved_by := 'administrator';
  END IF;
  PERFORM check_client_resources(NEW, OLD);
  -- a re-encrypted secret makes no new version of the client
  IF current_setting('gatehouse.reencrypt', true) IS DISTINCT FROM 'on'
     AND (to_jsonb(NEW) - 'version' - 'updated_at') IS DISTINCT FROM (to_jsonb(OLD) - 'version' - 'updated_at') THEN
    NEW.version := OLD.version + 1;
    NEW.updated_at := now();
  END IF;
  RETURN NEW;
END $$;
