-- Who may use a client, and from where; and where the start page leads to (federation 7).
ALTER TABLE clients
  -- everyone, or members of one of access_groups
  ADD COLUMN access text NOT NULL DEFAULT 'everyone' CHECK (access IN ('everyone', 'groups')),
  ADD COLUMN access_groups text[] NOT NULL DEFAULT '{}' CHECK (array_position(access_groups, NULL) IS NULL),
  -- the networks from which browsers and clients may act; empty for all
  ADD COLUMN networks cidr[] NOT NULL DEFAULT '{}' CHECK (array_position(networks, NULL) IS NULL),
  ADD COLUMN start_uri text CHECK (start_uri ~ '^https://[^/?#@\s]+([/?][^#\s]*)?$' AND length(start_uri) <= 2000),
  ADD COLUMN start_hidden boolean NOT NULL DEFAULT false;
-- a group that is renamed or deleted
CREATE INDEX clients_access_groups ON clients USING gin (access_groups) WHERE access_groups <> '{}';

-- Whether the groups of a user are enough for a client. Each statement that accepts or issues a token asks it (federation FR42). A test compares it with
-- mayUse() in src/oauth/access.ts.
CREATE FUNCTION has_access(user_groups text[], access text, access_groups text[]) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN access = 'everyone' OR user_groups && access_groups;

-- Orders the end of what these users have of clients that they may no longer use, in portions that one transaction can end. Only clients that a user has
-- granted something have sessions or tokens of the user.
CREATE FUNCTION end_lost_access(subs text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF subs IS NULL OR NOT EXISTS (SELECT FROM clients WHERE access <> 'everyone') THEN
    RETURN;
  END IF;
  INSERT INTO outbox (channel, name, client_id, data)
    SELECT 'access', 'users', client_id, jsonb_build_object('subs', jsonb_agg(sub))
      FROM (SELECT g.client_id, u.sub, (row_number() OVER (PARTITION BY g.client_id ORDER BY u.sub) - 1) / 500 AS portion
              FROM users u JOIN grants g ON g.sub = u.sub JOIN clients c ON c.client_id = g.client_id
             WHERE u.sub = ANY (subs) AND NOT has_access(u.groups, c.access, c.access_groups)) AS lost
     GROUP BY client_id, portion;
END $$;

-- As before, and orders the end of what users have of a client that admits fewer of them.
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
    ELSIF NEW.access = 'groups' AND (OLD.access <> 'groups' OR NOT NEW.access_groups @> OLD.access_groups) THEN
      INSERT INTO outbox (channel, name, client_id) VALUES ('access', 'client', NEW.client_id);
    END IF;
    PERFORM pg_notify('gatehouse', 'client ' || NEW.client_id);
  END IF;
  RETURN NULL;
END $$;
