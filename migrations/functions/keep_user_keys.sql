-- Keeps the keys of users, whatever changes them. A name that looks like a sub is refused as a wrong value, so that a version which does not know the
-- rule answers 400.
CREATE OR REPLACE FUNCTION keep_user_keys() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  before text[];
  after text[];
  each text;
BEGIN
  -- most changes change none of the texts that the keys are made of
  IF TG_OP = 'UPDATE' AND OLD.sub = NEW.sub AND OLD.username = NEW.username AND OLD.email IS NOT DISTINCT FROM NEW.email THEN
    RETURN NULL;
  END IF;
  before := CASE TG_OP WHEN 'INSERT' THEN '{}' ELSE keys_of_user(OLD) END;
  after := CASE TG_OP WHEN 'DELETE' THEN '{}' ELSE keys_of_user(NEW) END;
  IF before = after AND OLD.sub = NEW.sub THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.sub <> NEW.sub THEN
    -- everything of the user moves to the other sub
    FOR each IN SELECT DISTINCT unnest(before) LOOP
      PERFORM release_login_key(each, OLD.sub);
    END LOOP;
    before := '{}';
  END IF;
  FOR each IN SELECT unnest(before) EXCEPT SELECT unnest(after) LOOP
    PERFORM release_login_key(each, OLD.sub);
  END LOOP;
  -- in one order, so that two transactions cannot wait for each other
  FOR each IN SELECT key FROM (SELECT unnest(after) EXCEPT SELECT unnest(before)) AS added (key) ORDER BY key COLLATE "C" LOOP
    -- a text that looks like a sub is that of its own user alone
    IF each ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' AND each <> login_key(NEW.sub) THEN
      RAISE EXCEPTION 'a user name looks like a sub'
        USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'users_name_is_no_sub', TABLE = 'users';
    END IF;
    PERFORM claim_login_key(each, NEW.sub);
  END LOOP;
  RETURN NULL;
END $$;
