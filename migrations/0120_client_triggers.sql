-- What follows from a change of a client, whether the console, a route, the command line or plain SQL makes it.

-- A statement that names the column status decides about the client, even if it leaves the status as it is.
CREATE FUNCTION client_decision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.uncollected THEN
    -- An approval is noted in approved_by until the registrant collects the credentials, and disabling takes it back. A refusal is final, since
    -- the registrant's code is dead.
    NEW.approved_by := CASE WHEN NEW.status = 'enabled' AND NEW.refused_at IS NULL THEN coalesce(OLD.approved_by, 'administrator') END;
    NEW.status := 'disabled';
  ELSIF NEW.status = 'enabled' THEN
    NEW.refused_at := NULL;
    NEW.refusal_reason := NULL;
    -- For an enabled client the statement approves the change that waits. Enabling a disabled client approves none: a change that came while the
    -- client was disabled goes on waiting (security R116).
    IF OLD.status = 'enabled' AND NEW.pending_metadata IS NOT NULL THEN
      NEW.metadata := NEW.pending_metadata;
      NEW.pending_metadata := NULL;
    END IF;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER clients_1_decision BEFORE UPDATE OF status ON clients FOR EACH ROW EXECUTE FUNCTION client_decision();

-- Refuses to enable or approve a client while another client holds a resource that this one claims: of two clients that claim one resource, only
-- one is its server. A registration may claim any resource; it is checked when it is approved.
CREATE FUNCTION check_client_resources(client clients, before clients) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  claimed jsonb := coalesce(client.metadata -> 'resource_uris', '[]');
  held record;
BEGIN
  IF claimed = '[]' OR NOT (client.status = 'enabled' OR (client.uncollected AND client.approved_by IS NOT NULL)) THEN
    RETURN;
  END IF;
  IF before IS NULL THEN
    -- a registration that needs no approval is never refused: the earlier client stays the server of the resource
    IF client.self_registered THEN
      RETURN;
    END IF;
  ELSIF before.status = 'enabled' OR (before.uncollected AND before.approved_by IS NOT NULL) THEN
    -- the client keeps the resources that it holds already
    claimed := coalesce((SELECT jsonb_agg(uri) FROM jsonb_array_elements_text(claimed) AS uri
                          WHERE NOT coalesce(before.metadata -> 'resource_uris' ? uri, false)), '[]');
    IF claimed = '[]' THEN
      RETURN;
    END IF;
  END IF;
  -- makes two approvals at the same time see each other; the number is arbitrary
  PERFORM pg_advisory_xact_lock(7106345);
  SELECT uri, c.client_id INTO held
    FROM jsonb_array_elements_text(claimed) AS uri, clients c
   WHERE c.metadata -> 'resource_uris' ? uri AND c.client_id <> client.client_id
     AND (c.status = 'enabled' OR (c.uncollected AND c.approved_by IS NOT NULL))
   ORDER BY c.created_at, c.client_id LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'clients_resource_uris',
      MESSAGE = format('resource_uris: the client %s holds %s: disable that client first, or refuse this claim', held.client_id, held.uri);
  END IF;
END $$;

-- Keeps what follows from the other columns: epoch, approved_by, ever_enabled, version. Its name sorts after clients_1_decision, whose result
-- it reads.
CREATE FUNCTION client_rules() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    NEW.ever_enabled := NEW.ever_enabled OR NEW.status = 'enabled';
    PERFORM check_client_resources(NEW, NULL);
    RETURN NEW;
  END IF;
  NEW.ever_enabled := NEW.ever_enabled OR OLD.ever_enabled OR NEW.status = 'enabled';
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
CREATE TRIGGER clients_2_rules BEFORE INSERT OR UPDATE ON clients FOR EACH ROW EXECUTE FUNCTION client_rules();

-- Ends what must end when a client is disabled or deleted, remembers the redirect hosts that an administrator approved, and tells all instances.
CREATE FUNCTION client_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM client_sessions WHERE client_id = OLD.client_id;
    DELETE FROM session_clients WHERE client_id = OLD.client_id;
    DELETE FROM authorization_requests WHERE client_id = OLD.client_id;
    DELETE FROM access_tokens WHERE client_id = OLD.client_id;
    DELETE FROM logout_deliveries WHERE client_id = OLD.client_id AND status = 'waiting';
    PERFORM pg_notify('gatehouse', 'client ' || OLD.client_id);
    RETURN NULL;
  END IF;
  -- a host is known once an administrator has seen it, and not because a client was enabled without one
  IF NEW.status = 'enabled' AND NEW.approved_by = 'administrator'
     AND (TG_OP = 'INSERT' OR OLD.status <> 'enabled' OR OLD.metadata <> NEW.metadata) THEN
    -- redirect_hosts() sorts them, so that two approvals of the same hosts cannot deadlock
    INSERT INTO known_redirect_hosts (host) SELECT unnest(redirect_hosts(NEW.metadata)) ON CONFLICT DO NOTHING;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    IF NEW.status = 'disabled' AND OLD.status = 'enabled' THEN
      DELETE FROM client_sessions WHERE client_id = NEW.client_id;
      DELETE FROM access_tokens WHERE client_id = NEW.client_id;
      DELETE FROM logout_deliveries WHERE client_id = NEW.client_id AND status = 'waiting';
    END IF;
    PERFORM pg_notify('gatehouse', 'client ' || NEW.client_id);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER clients_effects AFTER INSERT OR UPDATE OR DELETE ON clients FOR EACH ROW EXECUTE FUNCTION client_effects();

-- The names of the members that differ between two rows, as clients and administrators know them; never a value, since some are secrets.
CREATE FUNCTION changed_members(before jsonb, after jsonb) RETURNS jsonb LANGUAGE sql AS $$
  WITH flat AS (
    SELECT before - 'metadata' - 'claims' || coalesce(before -> 'metadata', before -> 'claims') AS before,
           after - 'metadata' - 'claims' || coalesce(after -> 'metadata', after -> 'claims') AS after)
  SELECT jsonb_build_object('members', jsonb_agg(name ORDER BY name COLLATE "C")) FROM (
    SELECT DISTINCT CASE key WHEN 'pending_metadata' THEN 'pending_changes' ELSE regexp_replace(key, '_(hash|encrypted)$', '') END
      FROM flat, jsonb_object_keys(flat.before || flat.after) AS key
     WHERE flat.before -> key IS DISTINCT FROM flat.after -> key
       -- without what follows from other members, and what the type of the event says
       AND key <> ALL (ARRAY['version', 'epoch', 'updated_at', 'approved_by', 'refused_at', 'refusal_reason', 'uncollected', 'ever_enabled',
                             'client_secret_encrypted', 'username_key', 'email_key'])
       AND (key <> 'status' OR flat.after ? 'sub')) AS changed (name)
  HAVING count(*) > 0
$$;

-- Records a change by plain SQL in the audit trail, with the actor "sql", if the transaction ends without an event of the service about the
-- client. The service records an event in the transaction of the change.
CREATE FUNCTION record_client_change_by_sql() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  client text := CASE TG_OP WHEN 'DELETE' THEN OLD.client_id ELSE NEW.client_id END;
  event_type text;
  detail jsonb := jsonb_build_object('database_role', session_user);
  was_approved boolean;
  is_approved boolean;
BEGIN
  IF TG_OP = 'UPDATE' AND OLD.version = NEW.version OR EXISTS (
    SELECT FROM audit_events WHERE client_id = client AND at = now() AND xmin = pg_current_xact_id()::xid AND actor IS DISTINCT FROM 'sql') THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'DELETE' THEN
    event_type := 'client.deleted';
  ELSIF TG_OP = 'INSERT' THEN
    event_type := 'client.created';
    detail := detail || jsonb_strip_nulls(jsonb_build_object(
      'name', NEW.metadata -> 'client_name', 'scope', NEW.metadata -> 'scope', 'status', NEW.status));
  ELSE
    -- an approved client stays disabled until the registrant collects its credentials
    was_approved := OLD.status = 'enabled' OR (OLD.uncollected AND OLD.approved_by IS NOT NULL);
    is_approved := NEW.status = 'enabled' OR (NEW.uncollected AND NEW.approved_by IS NOT NULL);
    event_type := CASE
      WHEN is_approved AND (NOT was_approved OR (NEW.pending_metadata IS NULL AND NEW.metadata = OLD.pending_metadata)) THEN 'client.approved'
      WHEN was_approved AND NOT is_approved THEN 'client.disabled'
      WHEN NEW.refused_at IS DISTINCT FROM OLD.refused_at AND NEW.refused_at IS NOT NULL THEN 'client.refused'
      ELSE 'client.updated' END;
    detail := detail || jsonb_build_object('version', NEW.version) || coalesce(changed_members(to_jsonb(OLD), to_jsonb(NEW)), '{}');
    IF NEW.metadata -> 'scope' <> OLD.metadata -> 'scope' THEN
      detail := detail || jsonb_build_object('scope_before', OLD.metadata -> 'scope', 'scope', NEW.metadata -> 'scope');
    END IF;
    IF event_type = 'client.refused' THEN
      detail := detail || jsonb_build_object('reason', NEW.refusal_reason);
    END IF;
  END IF;
  PERFORM record_event(jsonb_build_object('type', event_type, 'outcome', 'success', 'actor', 'sql', 'client_id', client, 'detail', detail));
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER clients_by_sql AFTER INSERT OR UPDATE OR DELETE ON clients
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_client_change_by_sql();
