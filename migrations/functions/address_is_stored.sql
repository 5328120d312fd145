-- Stores an address with the A-label of its domain, also by plain SQL: makes lower case, and refuses another form (security R158). A stored address
-- stays as it is until it changes. The refusal is that of a wrong value, so that a version which does not know the rule answers 400.
CREATE OR REPLACE FUNCTION address_is_stored() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT has_a_label(NEW.email) THEN
    RAISE EXCEPTION 'the domain of an address must be an A-label, such as example.com or xn--mnchen-3ya.de'
      USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'users_email_check', TABLE = 'users', COLUMN = 'email';
  END IF;
  NEW.email := substring(NEW.email FROM '^[^@]*@') || lower(substring(NEW.email FROM '@([^@]*)$') COLLATE "C");
  RETURN NEW;
END $$;
