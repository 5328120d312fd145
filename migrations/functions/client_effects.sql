-- Ends what must end when a client is disabled or deleted, or admits fewer users or connections; remembers the redirect hosts that an administrator
-- approved; keeps the client's resources; orders a review of its provisioning target; and tells all instances.
CREATE OR REPLACE FUNCTION client_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    UPDATE exchange_policies SET subject_clients = array_remove(subject_clients, OLD.client_id) WHERE subject_clients @> ARRAY[OLD.client_id];
    UPDATE trusted_issuers SET clients = array_remove(clients, OLD.client_id) WHERE clients @> ARRAY[OLD.client_id];
    UPDATE connected_servers SET version = version + 1, clients = coalesce((SELECT jsonb_agg(entry ORDER BY place)
        FROM jsonb_array_elements(clients) WITH ORDINALITY AS e (entry, place) WHERE entry ->> 'client' <> OLD.client_id), '[]')
      WHERE clients @> jsonb_build_array(jsonb_build_object('client', OLD.client_id));
    IF FOUND THEN
      PERFORM pg_notify('gatehouse', 'connected_servers');
    END IF;
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
    IF (NEW.status, NEW.access, NEW.access_groups) IS DISTINCT FROM (OLD.status, OLD.access, OLD.access_groups)
       AND EXISTS (SELECT FROM provisioning_targets WHERE client = NEW.client_id) THEN
      INSERT INTO outbox (channel, name, client_id) VALUES ('provisioning', 'client', NEW.client_id);
    END IF;
    PERFORM pg_notify('gatehouse', 'client ' || NEW.client_id);
  END IF;
  RETURN NULL;
END $$;
