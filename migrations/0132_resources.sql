-- Resources (RFC 8707): APIs with scopes of their own. Clients request tokens for them, and each token names one as its audience.

-- A URI in the form in which resources are compared (RFC 3986 6.2.2, 6.2.3): scheme and host in lower case, no default port, and / for an empty
-- path; no more. A test compares it with resourceKey() in src/oauth/resource-key.ts.
CREATE FUNCTION resource_key(uri text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
  SELECT coalesce(
    (SELECT lower(part[1]) || '://' || coalesce(substring(part[2] FROM '^.*@'), '')
         || regexp_replace(
              lower(regexp_replace(part[2], '^.*@', '')),
              CASE lower(part[1]) WHEN 'https' THEN ':(443)?$' WHEN 'http' THEN ':(80)?$' ELSE ':$' END, '')
         || CASE WHEN part[3] LIKE '/%' THEN '' ELSE '/' END || part[3]
       FROM regexp_match(uri, '^([^:/?#]+)://([^/?#]*)(.*)$') AS part WHERE part IS NOT NULL),
    lower(substring(uri FROM '^[^:]*')) || coalesce(substring(uri FROM ':.*$'), ''));
END;

CREATE TABLE resources (
  id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  -- as the audience of tokens names it
  resource text NOT NULL CHECK (resource ~ '^[!-~]+$' AND length(resource) <= 2000),
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
  -- the client that introspects its tokens; a resource that reads tokens by itself needs none
  client_id text,
  -- a client registered it in resource_uris and was approved; false once an administrator changes it
  registered boolean NOT NULL DEFAULT false,
  -- a member for each scope value, with its descriptions by language
  scopes jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(scopes) = 'object'),
  -- listed: clients that are registered for one of its scopes; approved: every enabled client
  clients text NOT NULL DEFAULT 'listed' CHECK (clients IN ('listed', 'approved')),
  -- in seconds; null for the lifetime of the client's tokens
  access_token_lifetime integer CHECK (access_token_lifetime > 0),
  -- the authentication level that users must reach before a client gets tokens for the resource; null for any
  required_acr text CHECK (length(required_acr) BETWEEN 1 AND 200),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE UNIQUE INDEX resources_key ON resources (resource_key(resource));
CREATE INDEX resources_scopes ON resources USING gin (scopes);
CREATE INDEX resources_client ON resources (client_id) WHERE client_id IS NOT NULL;
CREATE INDEX resources_newest ON resources (created_at DESC, id DESC);

-- The URIs that a client registers as a resource server. They become rows when the client is enabled, and not before: a registration tells nobody
-- which resources exist.
CREATE FUNCTION claimed_resources(metadata jsonb) RETURNS TABLE (uri text, key text) LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
  SELECT DISTINCT ON (resource_key(claimed)) claimed, resource_key(claimed)
    FROM jsonb_array_elements_text(coalesce(metadata -> 'resource_uris', '[]')) AS claimed
   ORDER BY resource_key(claimed);
END;

-- Whether a client holds its resources: an approved client does before its registrant has collected the credentials.
CREATE FUNCTION holds_resources(client clients) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN client.status = 'enabled' OR (client.uncollected AND client.approved_by IS NOT NULL);

-- The resources among these URIs that a client cannot claim: those of an administrator, and those that another client holds.
CREATE FUNCTION held_resources(claimant text, keys text[]) RETURNS TABLE (id text, resource text, name text, client_id text, since timestamptz)
LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT r.id, r.resource, r.name, r.client_id, r.created_at
    FROM resources r LEFT JOIN clients c ON c.client_id = r.client_id
   WHERE resource_key(r.resource) = ANY (keys) AND r.client_id IS DISTINCT FROM claimant AND (NOT r.registered OR holds_resources(c))
   ORDER BY r.created_at, r.resource;
END;

-- Refuses to enable or approve a client that claims a resource which it cannot have. A registration may claim any resource; it is checked when it
-- is approved.
CREATE OR REPLACE FUNCTION check_client_resources(client clients, before clients) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  claimed text[] := ARRAY(SELECT key FROM claimed_resources(client.metadata));
  held record;
BEGIN
  IF claimed = '{}' OR NOT holds_resources(client) THEN
    RETURN;
  END IF;
  IF before IS NULL THEN
    -- a registration that needs no approval is never refused: the earlier client stays the server of the resource
    IF client.self_registered THEN
      RETURN;
    END IF;
  ELSIF holds_resources(before) THEN
    -- the client keeps the resources that it holds already
    claimed := ARRAY(SELECT unnest(claimed) EXCEPT SELECT key FROM claimed_resources(before.metadata));
    IF claimed = '{}' THEN
      RETURN;
    END IF;
  END IF;
  -- makes two approvals at the same time see each other; the number is arbitrary
  PERFORM pg_advisory_xact_lock(7106345);
  SELECT * INTO held FROM held_resources(client.client_id, claimed) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'clients_resource_uris', MESSAGE = CASE
      WHEN held.client_id IS NULL THEN format('resource_uris: %s is a resource that an administrator created: delete it first, or refuse this claim', held.resource)
      ELSE format('resource_uris: the client %s holds %s: disable that client first, or refuse this claim', held.client_id, held.resource) END;
  END IF;
END $$;

-- Makes the rows of a client that holds its resources, and deletes those that it gives up. A row that an administrator changed stays.
CREATE FUNCTION keep_client_resources(client clients) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM resources r WHERE r.client_id = client.client_id AND r.registered
    AND NOT EXISTS (SELECT FROM claimed_resources(client.metadata) AS claimed WHERE claimed.key = resource_key(r.resource));
  IF NOT holds_resources(client) THEN
    RETURN;
  END IF;
  -- every enabled client may name it, as before resources had scopes; the row of a client that no longer holds it changes hands
  INSERT INTO resources AS r (resource, name, client_id, registered, clients)
    SELECT uri, left(coalesce(client.metadata ->> 'client_name', client.client_id), 100), client.client_id, true, 'approved'
      FROM claimed_resources(client.metadata)
    ON CONFLICT (resource_key(resource)) DO UPDATE SET
      -- with a new id, for which no user has granted anything
      id = excluded.id, resource = excluded.resource, name = excluded.name, client_id = excluded.client_id
      WHERE r.registered AND r.client_id <> excluded.client_id
        AND NOT EXISTS (SELECT FROM clients c WHERE c.client_id = r.client_id AND holds_resources(c));
END $$;

-- As before, and keeps the client's resources.
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
    END IF;
    PERFORM pg_notify('gatehouse', 'client ' || NEW.client_id);
  END IF;
  RETURN NULL;
END $$;

INSERT INTO resources (resource, name, client_id, registered, clients)
  SELECT DISTINCT ON (claimed.key) claimed.uri, left(coalesce(c.metadata ->> 'client_name', c.client_id), 100), c.client_id, true, 'approved'
    FROM clients c, claimed_resources(c.metadata) AS claimed
   WHERE holds_resources(c) AND claimed.uri ~ '^[!-~]+$' AND length(claimed.uri) <= 2000
   ORDER BY claimed.key, c.created_at, c.client_id;
DROP INDEX clients_resource_uris;
