-- A domain belongs to one connection: as a route of the sign-in page, and as a domain whose addresses the connection confirms (federation 4). The lists of
-- connections are what requests read; these rows keep two connections from listing the same domain.
CREATE TABLE connection_domains (
  purpose text NOT NULL CHECK (purpose IN ('route', 'authority')),
  domain text COLLATE "C" NOT NULL,
  connection_id text NOT NULL REFERENCES connections ON DELETE CASCADE,
  PRIMARY KEY (purpose, domain)
);
CREATE INDEX connection_domains_connection ON connection_domains (connection_id);
INSERT INTO connection_domains (purpose, domain, connection_id)
  SELECT 'route', unnest(domains), id FROM connections ORDER BY position, id ON CONFLICT DO NOTHING;
INSERT INTO connection_domains (purpose, domain, connection_id)
  SELECT 'authority', unnest(authoritative_domains), id FROM connections ORDER BY position, id ON CONFLICT DO NOTHING;
