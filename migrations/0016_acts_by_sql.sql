-- What is done by SQL stands in the audit trail, too: at the end of a transaction in which an act was done and nobody recorded it, it is
-- recorded here, with the actor "sql". Whoever records an act does so in the transaction of the act; nothing else is asked of the service.

-- The names of the members of a row that differ, as they are on the wire; never a value, since some are secrets.
CREATE FUNCTION changed_members(before jsonb, after jsonb) RETURNS jsonb LANGUAGE sql AS $$
  WITH flat AS (
    SELECT before - 'metadata' - 'claims' || coalesce(before -> 'metadata', before -> 'claims') AS before,
           after - 'metadata' - 'claims' || coalesce(after -> 'metadata', after -> 'claims') AS after)
  SELECT jsonb_build_object('members', jsonb_agg(name ORDER BY name COLLATE "C")) FROM (
    SELECT DISTINCT CASE key WHEN 'pending_metadata' THEN 'pending_changes' ELSE regexp_replace(key, '_(hash|encrypted)$', '') END
      FROM flat, jsonb_object_keys(flat.before || flat.after) AS key
     WHERE flat.before -> key IS DISTINCT FROM flat.after -> key
       -- what follows of itself, and what the event's type says
       AND key <> ALL (ARRAY['version', 'epoch', 'updated_at', 'approved_by', 'refused_at', 'refusal_reason', 'uncollected',
                             'client_secret_encrypted', 'username_key', 'email_key'])
       AND (key <> 'status' OR flat.after ? 'sub')) AS changed (name)
  HAVING count(*) > 0
$$;

CREATE FUNCTION client_act_by_sql() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  client text := CASE TG_OP WHEN 'DELETE' THEN OLD.client_id ELSE NEW.client_id END;
  act text;
  detail jsonb := jsonb_build_object('database_role', session_user);
  was_let_in boolean;
  is_let_in boolean;
BEGIN
  IF EXISTS (
    SELECT FROM audit_events WHERE client_id = client AND at = now() AND xmin = pg_current_xact_id()::xid AND actor IS DISTINCT FROM 'sql') THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'DELETE' THEN
    act := 'client.deleted';
  ELSIF TG_OP = 'INSERT' THEN
    act := 'client.created';
    detail := detail || jsonb_strip_nulls(jsonb_build_object(
      'name', NEW.metadata -> 'client_name', 'scope', NEW.metadata -> 'scope', 'status', NEW.status));
  ELSE
    -- what nobody collected yet is approved, but stays disabled
    was_let_in := OLD.status = 'enabled' OR (OLD.uncollected AND OLD.approved_by IS NOT NULL);
    is_let_in := NEW.status = 'enabled' OR (NEW.uncollected AND NEW.approved_by IS NOT NULL);
    act := CASE
      WHEN is_let_in AND (NOT was_let_in OR (NEW.pending_metadata IS NULL AND NEW.metadata = OLD.pending_metadata)) THEN 'client.approved'
      WHEN was_let_in AND NOT is_let_in THEN 'client.disabled'
      WHEN NEW.refused_at IS DISTINCT FROM OLD.refused_at AND NEW.refused_at IS NOT NULL THEN 'client.refused'
      ELSE 'client.updated' END;
    detail := detail || jsonb_build_object('version', NEW.version) || coalesce(changed_members(to_jsonb(OLD), to_jsonb(NEW)), '{}');
    IF NEW.metadata -> 'scope' <> OLD.metadata -> 'scope' THEN
      detail := detail || jsonb_build_object('scope_before', OLD.metadata -> 'scope', 'scope', NEW.metadata -> 'scope');
    END IF;
    IF act = 'client.refused' THEN
      detail := detail || jsonb_build_object('reason', NEW.refusal_reason);
    END IF;
  END IF;
  INSERT INTO audit_events (type, outcome, actor, client_id, detail) VALUES (act, 'success', 'sql', client, detail);
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER clients_made_or_gone_by_sql AFTER INSERT OR DELETE ON clients
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION client_act_by_sql();
CREATE CONSTRAINT TRIGGER clients_changed_by_sql AFTER UPDATE ON clients
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.version <> NEW.version) EXECUTE FUNCTION client_act_by_sql();

CREATE FUNCTION user_act_by_sql() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  subject text := CASE TG_OP WHEN 'DELETE' THEN OLD.sub ELSE NEW.sub END;
  act text;
  detail jsonb := jsonb_build_object('database_role', session_user);
BEGIN
  IF EXISTS (
    SELECT FROM audit_events WHERE sub = subject AND at = now() AND xmin = pg_current_xact_id()::xid AND actor IS DISTINCT FROM 'sql') THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'DELETE' THEN
    act := 'user.deleted';
    detail := detail || jsonb_build_object('username', OLD.username, 'admin', OLD.admin);
  ELSIF TG_OP = 'INSERT' THEN
    act := 'user.created';
    detail := detail || jsonb_build_object('username', NEW.username, 'admin', NEW.admin);
  ELSE
    act := CASE
      WHEN NEW.status = 'disabled' AND OLD.status = 'enabled' THEN 'user.disabled'
      WHEN NEW.password_hash IS DISTINCT FROM OLD.password_hash THEN 'user.password_changed'
      ELSE 'user.changed' END;
    detail := detail || coalesce(changed_members(to_jsonb(OLD), to_jsonb(NEW)), '{}');
    IF NEW.admin <> OLD.admin THEN
      detail := detail || jsonb_build_object('admin', NEW.admin);
    END IF;
    IF NEW.status <> OLD.status THEN
      detail := detail || jsonb_build_object('status', NEW.status);
    END IF;
  END IF;
  INSERT INTO audit_events (type, outcome, actor, sub, detail) VALUES (act, 'success', 'sql', subject, detail);
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER users_made_or_gone_by_sql AFTER INSERT OR DELETE ON users
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION user_act_by_sql();
-- a stronger hash of the same password, made as its user signs in, is no act: the statement that stores it says so
CREATE CONSTRAINT TRIGGER users_changed_by_sql AFTER UPDATE ON users
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (to_jsonb(OLD) - 'updated_at' <> to_jsonb(NEW) - 'updated_at' AND NOT (
    current_setting('gatehouse.rehash', true) IS NOT DISTINCT FROM 'on'
    AND to_jsonb(OLD) - ARRAY['updated_at', 'password_hash'] = to_jsonb(NEW) - ARRAY['updated_at', 'password_hash']))
  EXECUTE FUNCTION user_act_by_sql();

-- A session that ends with its user, or because of what is done to it, is no act of its own; nor is one that had expired.
CREATE FUNCTION session_end_by_sql() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (
    SELECT FROM audit_events WHERE sub = OLD.sub AND at = now() AND xmin = pg_current_xact_id()::xid
       AND (actor IS DISTINCT FROM 'sql' OR type <> 'session.ended')) THEN
    INSERT INTO audit_events (type, outcome, actor, sub, detail) VALUES ('session.ended', 'success', 'sql', OLD.sub,
      jsonb_build_object('database_role', session_user, 'session', OLD.sid));
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER sessions_ended_by_sql AFTER DELETE ON sessions
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.idle_expires_at > now()) EXECUTE FUNCTION session_end_by_sql();
