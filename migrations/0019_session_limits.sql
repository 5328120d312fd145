-- The end of sessions whose user gains or loses the power of an administrator.

-- Disabling a user ends all that is theirs. Becoming an administrator, or ceasing to be one, ends the sessions, whoever does it: no
-- cookie from before has another power than it was given (security R52), and no token for administrators outlives the change.
CREATE OR REPLACE FUNCTION user_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status = 'disabled' AND OLD.status = 'enabled' THEN
    DELETE FROM sessions WHERE sub = NEW.sub;
    DELETE FROM client_sessions WHERE sub = NEW.sub;
  ELSIF NEW.admin <> OLD.admin THEN
    DELETE FROM sessions WHERE sub = NEW.sub;
    DELETE FROM client_sessions WHERE sub = NEW.sub AND string_to_array(scope, ' ') && ARRAY['admin', 'metrics'];
  END IF;
  RETURN NULL;
END $$;
