-- Ends what was issued under a grant that is withdrawn.
CREATE OR REPLACE FUNCTION grant_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM client_sessions WHERE client_id = OLD.client_id AND sub = OLD.sub;
  RETURN NULL;
END $$;
