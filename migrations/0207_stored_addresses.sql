-- An address is stored with the A-label of its domain, also by plain SQL: lower case is made here, and another form is refused (security R158). A stored
-- address stays as it is until it changes.
CREATE FUNCTION address_is_stored() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  domain text := lower(substring(NEW.email FROM '@([^@]*)$') COLLATE "C");
BEGIN
  IF domain IS NULL OR NEW.email !~ '^[^@"]+@[^@]+$'
     OR domain !~ '^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' THEN
    RAISE EXCEPTION 'the domain of an address must be an A-label, such as example.com or xn--mnchen-3ya.de'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'users_email_check', TABLE = 'users', COLUMN = 'email';
  END IF;
  NEW.email := substring(NEW.email FROM '^[^@]*@') || domain;
  RETURN NEW;
END $$;
CREATE TRIGGER users_address_insert BEFORE INSERT ON users
  FOR EACH ROW WHEN (NEW.email IS NOT NULL) EXECUTE FUNCTION address_is_stored();
CREATE TRIGGER users_address_update BEFORE UPDATE OF email ON users
  FOR EACH ROW WHEN (NEW.email IS DISTINCT FROM OLD.email AND NEW.email IS NOT NULL) EXECUTE FUNCTION address_is_stored();
