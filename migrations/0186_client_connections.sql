-- By which connections users may sign in to a client (federation 7): empty for every way to sign in. An id stays when its connection is deleted, so that
-- a deletion opens no client.
ALTER TABLE clients ADD COLUMN connections text[] NOT NULL DEFAULT '{}' CHECK (array_position(connections, NULL) IS NULL);
-- The connection by which the user had signed in when the client was authorized: tokens can outlive the session.
ALTER TABLE client_sessions ADD COLUMN connection_id text;
UPDATE client_sessions cs SET connection_id = s.connection_id FROM sessions s WHERE s.id = cs.session_id AND s.connection_id IS NOT NULL;

-- Whether a sign-in is enough for a client; `by` is null for a sign-in by the service itself. It is asked wherever has_access() is. A test compares it with
-- mayUse() in src/oauth/access.ts.
CREATE FUNCTION comes_by(connections text[], by text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN connections = '{}' OR coalesce(by, '') = ANY (connections);

-- As before, and orders the end of what users have of a client that allows fewer connections.
CREATE OR REPLACE FUNCTION client_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM client_sessions WHERE client_id = OLD.client_id;
    DELETE FROM session_clients WHERE client_id = OLD.client_id;
    DELETE FROM authorization_requests WHERE client_id = OLD.client_id;
    DELETE FROM access_tokens WHERE client_id = OLD.client_id;
    DELETE FROM logout_deliveries WHERE client_id = OLD.client_id AND status = 'waiting';
    DELETE FROM resources WHERE client_id = OLD.client_id AND registered;
    UPDATE resources SET client_id = NULL WHERE client_id = OLD.client_id;
    PERFORM pg_notify('gatehouse', 'client ' || OLD.client_id);
    RETURN NULL;
  END IF;
  -- a host is known once an administrator has seen it, and not because a client was enabled without one
  IF NEW.status = 'enabled' AND NEW.approved_by = 'administrator'
     AND (TG_OP = 'INSERT' OR OLD.status <> 'enabled' OR OLD.metadata <> NEW.metadata) THEN
    -- redirect_hosts() sorts them, so that two approvals of the same hosts cannot deadlock
    INSERT INTO known_redirect_hosts (host) SELECT unnest(redirect_hosts(NEW.metadata)) ON CONFLICT DO NOTHING;
  END IF;
  PERFORM keep_client_resources(NEW);
  IF TG_OP = 'UPDATE' THEN
    IF NEW.status = 'disabled' AND OLD.status = 'enabled' THEN
      DELETE FROM client_sessions WHERE client_id = NEW.client_id;
      DELETE FROM access_tokens WHERE client_id = NEW.client_id;
      DELETE FROM logout_deliveries WHERE client_id = NEW.client_id AND status = 'waiting';
    ELSIF NEW.access = 'groups' AND (OLD.access <> 'groups' OR NOT NEW.access_groups @> OLD.access_groups)
       OR NEW.connections <> '{}' AND (OLD.connections = '{}' OR NOT NEW.connections @> OLD.connections) THEN
      INSERT INTO outbox (channel, name, client_id) VALUES ('access', 'client', NEW.client_id);
    END IF;
    PERFORM pg_notify('gatehouse', 'client ' || NEW.client_id);
  END IF;
  RETURN NULL;
END $$;
