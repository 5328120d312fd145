-- A redirect host is known here since a person looked at it: what was enabled without one, by an initial access token or automatically,
-- says nothing about it. So the table grows by people's acts only, and stays as long as those are to be remembered.
CREATE OR REPLACE FUNCTION client_redirect_hosts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.approved_by IS DISTINCT FROM 'administrator' THEN
    RETURN NULL;
  END IF;
  -- in one order, so that two approvals of the same hosts never wait for one another
  INSERT INTO known_redirect_hosts (host) SELECT unnest(redirect_hosts(NEW.metadata)) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

DELETE FROM known_redirect_hosts known
 WHERE NOT EXISTS (
   SELECT FROM clients c WHERE c.status = 'enabled' AND c.approved_by = 'administrator' AND redirect_hosts(c.metadata) @> ARRAY[known.host]);
