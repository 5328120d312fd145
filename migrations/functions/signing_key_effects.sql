-- Tells all instances to read the keys again.
CREATE OR REPLACE FUNCTION signing_key_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gatehouse', 'keys');
  RETURN NULL;
END $$;
