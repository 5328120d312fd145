-- Keeps the table of the hosts of protected sites: each host belongs to one client.
CREATE OR REPLACE FUNCTION keep_site_hosts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF NEW.hosts = OLD.hosts THEN
      RETURN NULL;
    END IF;
    DELETE FROM site_hosts WHERE client_id = NEW.client_id AND host <> ALL (NEW.hosts);
  END IF;
  INSERT INTO site_hosts (host, client_id)
    SELECT DISTINCT given.host, NEW.client_id FROM unnest(NEW.hosts) AS given (host)
     WHERE NOT EXISTS (SELECT FROM site_hosts h WHERE h.host = given.host AND h.client_id = NEW.client_id)
     ORDER BY given.host;
  RETURN NULL;
END $$;
