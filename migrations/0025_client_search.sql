-- Finding one client among many thousands, and what it takes to judge one that waits: names that look alike, and redirect hosts with the
-- moment since which each is known here. The functions name a high cost, so that no plan calls them for row after row where an index knows.

-- Host and port of each redirect URI, or the scheme of a native application's: as people are shown them.
CREATE FUNCTION redirect_hosts(metadata jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 5000
RETURN ARRAY(
  SELECT DISTINCT left(coalesce(substring(uri FROM '^https?://([^/?#]+)'), substring(uri FROM '^[^:/?#]+:')), 255) COLLATE "C" AS host
    FROM jsonb_array_elements_text(metadata -> 'redirect_uris') AS uri
   WHERE uri ~ '^[^:/?#]+:'
   ORDER BY host);

-- What a client is found by: its id, the words of its name, its redirect hosts, and the domains above those.
CREATE FUNCTION client_search_terms(client_id text, metadata jsonb) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 5000
RETURN array_to_tsvector(ARRAY(
  SELECT DISTINCT left(lower(normalize(term, NFKC)), 200)
    FROM (
      SELECT client_id
      UNION ALL
      SELECT regexp_split_to_table(metadata ->> 'client_name', '\s+')
      UNION ALL
      SELECT regexp_split_to_table(metadata ->> 'client_name', '[\s\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e]+')
      UNION ALL
      SELECT array_to_string(labels[first:], '.')
        FROM unnest(redirect_hosts(metadata)) AS host,
             regexp_split_to_array(host, '\.') AS labels,
             generate_series(1, greatest(cardinality(labels) - 1, 1)) AS first
    ) AS terms (term)
   WHERE term <> ''));
CREATE INDEX clients_search ON clients USING gin (client_search_terms(client_id, metadata));

-- A name as the eye takes it: without accents, case, spaces and signs, and with one letter for those that look the same (after Unicode TR39).
CREATE FUNCTION name_skeleton(name text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN replace(replace(
  regexp_replace(
    lower(translate(normalize(name, NFKD),
      'аАвВеЕѕЅіІјЈкКмМнНоОрРсСтТуУхХԁԛԝһӏӀгпи' || 'αΑβΒγεΕζΖηΗιΙκΚμΜνΝοΟρΡσςτΤυΥχΧω' || 'ıłŁøØđĐħɑɡɩ' || 'օսոհցյ' || '0153iI|!',
      'aabbeesslljjkkmmhhooppccttyyxxdqwhllrnu' || 'aabbyeezznhllkkumvnoopposttuyxxw' || 'lllooddhagl' || 'ounhgj' || 'olsellll')),
    '[\u0300-\u036f\s\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e\u00a0-\u00bf\u2000-\u206f]+', '', 'g'),
  'rn', 'm'), 'vv', 'w');

-- The skeleton and, of one that is not short, all that it becomes without one letter: two names that share one of these differ in a letter or less.
CREATE FUNCTION name_neighbours(name text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 5000
RETURN ARRAY(
  SELECT skeleton COLLATE "C" AS term FROM name_skeleton(name) AS skeleton WHERE skeleton <> ''
  UNION
  SELECT left(skeleton, n - 1) || substr(skeleton, n + 1)
    FROM name_skeleton(name) AS skeleton, generate_series(1, length(skeleton)) AS n
   WHERE length(skeleton) >= 5);
CREATE INDEX clients_look_alikes ON clients USING gin (name_neighbours(metadata ->> 'client_name')) WHERE status = 'enabled';

-- Hosts to which an enabled client ever sent people, and since when. It stays when that client goes: how many there are now is asked of the clients.
CREATE TABLE known_redirect_hosts (
  host text PRIMARY KEY CHECK (char_length(host) BETWEEN 1 AND 255),
  since timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
INSERT INTO known_redirect_hosts (host, since)
  SELECT host, min(created_at) FROM clients, unnest(redirect_hosts(metadata)) AS host WHERE status = 'enabled' GROUP BY host;
CREATE INDEX clients_redirect_hosts ON clients USING gin (redirect_hosts(metadata)) WHERE status = 'enabled';

CREATE FUNCTION client_redirect_hosts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- in one order, so that two approvals of the same hosts never wait for one another
  INSERT INTO known_redirect_hosts (host) SELECT unnest(redirect_hosts(NEW.metadata)) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER clients_redirect_hosts_made AFTER INSERT ON clients
  FOR EACH ROW WHEN (NEW.status = 'enabled') EXECUTE FUNCTION client_redirect_hosts();
CREATE TRIGGER clients_redirect_hosts_changed AFTER UPDATE ON clients
  FOR EACH ROW WHEN (NEW.status = 'enabled' AND (OLD.status <> 'enabled' OR OLD.metadata <> NEW.metadata))
  EXECUTE FUNCTION client_redirect_hosts();

-- the lists, newest first
CREATE INDEX clients_newest_of_status ON clients (status, created_at DESC, client_id DESC);
CREATE INDEX clients_to_decide ON clients (created_at DESC, client_id DESC)
  WHERE (status = 'disabled' AND approved_by IS NULL AND refused_at IS NULL) OR pending_metadata IS NOT NULL;
CREATE INDEX logout_deliveries_newest_of_client ON logout_deliveries (client_id, created_at DESC, id DESC);

-- last, since this alone makes readers wait. Made by its own registration, whoever approved it, and not by an administrator:
ALTER TABLE clients ADD COLUMN self_registered boolean NOT NULL DEFAULT false;
CREATE INDEX clients_newest_self_registered ON clients (created_at DESC, client_id DESC) WHERE self_registered;
-- of those that are there the trail tells how they came; no new version of them, as with secrets that are sealed anew
SELECT set_config('gatehouse.reencrypt', 'on', true);
UPDATE clients c SET self_registered = true
 WHERE approved_by IN ('initial_access_token', 'automatic')
    OR EXISTS (SELECT FROM audit_events e WHERE e.client_id = c.client_id AND e.type = 'client.registered');
SELECT set_config('gatehouse.reencrypt', 'off', true);
