-- Failed sign-ins of an account, and the browsers in which a person has signed in before: what strangers try does not keep a person out there.

-- When the next try is taken, after so many failures in a row: the first ones are free, then the pauses double from a minute to a quarter of an hour.
CREATE FUNCTION sign_in_held_until(failures integer, free integer) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN failures < free THEN '-infinity' ELSE now() + least(900, 60 * 2.0 ^ (failures - free)) * interval '1 second' END
$$;

CREATE TABLE sign_in_failures (
  -- SHA-256 of the sub, or of the name that was typed where no account has it: both are counted, so that both take as long
  account bytea PRIMARY KEY CHECK (octet_length(account) = 32),
  sub text REFERENCES users ON DELETE CASCADE,
  -- in a row; a try counts from before its password is looked at
  failures integer NOT NULL CHECK (failures > 0),
  held_until timestamptz NOT NULL,
  -- never for an account (NIST SP 800-63B-4 3.2.2 counts in a row, not in a time); soon for a name without one
  expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_failures_user ON sign_in_failures (sub);
CREATE INDEX sign_in_failures_expiry ON sign_in_failures (expires_at);

CREATE TABLE known_browsers (
  token_hash bytea NOT NULL CHECK (octet_length(token_hash) = 32),
  -- several people may share a browser
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0),
  held_until timestamptz NOT NULL DEFAULT '-infinity',
  used_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (token_hash, sub)
);
CREATE INDEX known_browsers_user ON known_browsers (sub, used_at);
CREATE INDEX known_browsers_expiry ON known_browsers (expires_at);

-- With another password everything begins anew: no browser is known, and no failure counts. A stronger hash of the same one is no other password.
CREATE FUNCTION user_password_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM known_browsers WHERE sub = NEW.sub;
  DELETE FROM sign_in_failures WHERE sub = NEW.sub;
  RETURN NULL;
END $$;
CREATE TRIGGER users_password_effects AFTER UPDATE OF password_hash ON users FOR EACH ROW
  WHEN (OLD.password_hash IS DISTINCT FROM NEW.password_hash AND current_setting('gatehouse.rehash', true) IS DISTINCT FROM 'on')
  EXECUTE FUNCTION user_password_effects();
