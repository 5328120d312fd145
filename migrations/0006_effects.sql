-- What follows from a change, whoever makes it (console, route, command line or SQL), on every instance.

-- A change raises the version; disabling raises the epoch; setting the status to enabled approves what waits.
CREATE FUNCTION client_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status = 'disabled' AND OLD.status = 'enabled' THEN
    NEW.epoch := OLD.epoch + 1;
  END IF;
  IF NEW.status = 'enabled' AND NEW.approved_by IS NULL THEN
    NEW.approved_by := 'administrator';
  END IF;
  IF (to_jsonb(NEW) - 'version' - 'updated_at') IS DISTINCT FROM (to_jsonb(OLD) - 'version' - 'updated_at') THEN
    NEW.version := OLD.version + 1;
    NEW.updated_at := now();
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION client_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status = 'enabled' AND NEW.pending_metadata IS NOT NULL THEN
    NEW.metadata := NEW.pending_metadata;
    NEW.pending_metadata := NULL;
  END IF;
  RETURN NEW;
END $$;

-- fires whenever the statement names the column, changed or not: this is the approval by SQL
CREATE TRIGGER clients_1_approval BEFORE UPDATE OF status ON clients FOR EACH ROW EXECUTE FUNCTION client_approval();
CREATE TRIGGER clients_2_changes BEFORE UPDATE ON clients FOR EACH ROW EXECUTE FUNCTION client_changes();

CREATE FUNCTION client_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
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
CREATE TRIGGER clients_effects AFTER UPDATE OR DELETE ON clients FOR EACH ROW EXECUTE FUNCTION client_effects();

-- Disabling a user ends all that is theirs.
CREATE FUNCTION user_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status = 'disabled' AND OLD.status = 'enabled' THEN
    DELETE FROM sessions WHERE sub = NEW.sub;
    DELETE FROM client_sessions WHERE sub = NEW.sub;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER users_effects AFTER UPDATE ON users FOR EACH ROW EXECUTE FUNCTION user_effects();

-- What was granted offline_access outlives its session, but for its codes and access tokens; whoever ends the session.
-- One that merely expired takes nothing along: its access tokens have an end of their own.
CREATE FUNCTION session_ends() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kept bigint[];
BEGIN
  WITH detached AS (
    UPDATE client_sessions SET session_id = NULL WHERE session_id = OLD.id AND offline RETURNING id)
  SELECT coalesce(array_agg(id), '{}') INTO kept FROM detached;
  IF OLD.idle_expires_at > now() AND cardinality(kept) > 0 THEN
    DELETE FROM access_tokens WHERE client_session_id = ANY (kept);
    DELETE FROM authorization_codes WHERE client_session_id = ANY (kept);
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER sessions_end BEFORE DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION session_ends();

CREATE FUNCTION signing_key_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gatehouse', 'keys');
  RETURN NULL;
END $$;
CREATE TRIGGER signing_keys_effects AFTER INSERT OR UPDATE OR DELETE ON signing_keys
  FOR EACH STATEMENT EXECUTE FUNCTION signing_key_effects();

-- A withdrawn grant ends what it carried.
CREATE FUNCTION grant_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM client_sessions WHERE client_id = OLD.client_id AND sub = OLD.sub;
  RETURN NULL;
END $$;
CREATE TRIGGER grants_effects AFTER DELETE ON grants FOR EACH ROW EXECUTE FUNCTION grant_effects();
