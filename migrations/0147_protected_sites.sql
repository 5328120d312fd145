-- Adds protected sites: applications behind a proxy that asks this service about each request (federation 13).

ALTER TABLE clients
  -- exact, without a port
  ADD COLUMN hosts text[] NOT NULL DEFAULT '{}' CHECK (array_position(hosts, NULL) IS NULL),
  -- the headers by which the application learns who its user is
  ADD COLUMN headers text[] NOT NULL DEFAULT '{}' CHECK (array_position(headers, NULL) IS NULL),
  -- the beginnings of paths that everyone may open
  ADD COLUMN open_paths text[] NOT NULL DEFAULT '{}' CHECK (array_position(open_paths, NULL) IS NULL),
  -- seconds from a sign-in to the site until the next one; null for the end of the session
  ADD COLUMN session_lifetime integer CHECK (session_lifetime > 0),
  ADD CONSTRAINT clients_sites CHECK (kind = 'proxy' OR hosts = '{}' AND headers = '{}' AND open_paths = '{}');

-- The client of a host, which each request of a proxy looks up. A trigger keeps it.
CREATE TABLE site_hosts (
  host text PRIMARY KEY,
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE
);
CREATE INDEX site_hosts_client ON site_hosts (client_id);
CREATE TRIGGER clients_site_hosts AFTER INSERT OR UPDATE OF hosts ON clients
  FOR EACH ROW EXECUTE FUNCTION keep_site_hosts();

-- The cookies of protected sites. A row counts while its client session lives, so that everything that ends the client session ends it, too. It has no
-- foreign key: each end of a client session, of any client, would have to look here.
CREATE TABLE site_sessions (
  token_hash digest PRIMARY KEY,
  client_session_id bigint NOT NULL,
  -- where the cookie counts
  host text NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX site_sessions_expiry ON site_sessions (expires_at);
