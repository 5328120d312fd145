-- One key space for every text that names a user or a client, so that no text names two of them (security R153).

-- The form in which user names and addresses are compared, the same on every database: its own locale plays no part. NFKC is repeated, since
-- lower case can undo it, and a final sigma is a sigma. loginKey() in src/oauth/login-key.ts is the same rule.
CREATE FUNCTION login_key(typed text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN translate(
  normalize(lower(btrim(normalize(typed, NFKC), U&' \0009\000a\000b\000c\000d\1680\2028\2029\feff') COLLATE "und-x-icu"), NFKC),
  'ς', 'σ');

-- Who has a key. The primary key decides between two transactions.
CREATE TABLE login_keys (
  key text COLLATE "C" PRIMARY KEY,
  -- the user whose name, address or sub has the key; null for a client's key
  sub text,
  -- whether the key is that of a client_id
  is_client boolean NOT NULL DEFAULT false,
  CHECK (sub IS NOT NULL OR is_client)
);

-- Further users with a key of login_keys. Pairs from before this migration are exempt until one of the two is changed. Subs may differ by
-- case alone: no user is found by the key of a sub.
CREATE TABLE shared_login_keys (
  key text COLLATE "C" NOT NULL,
  sub text NOT NULL,
  PRIMARY KEY (key, sub)
);

-- The keys of a user's name, address and sub.
CREATE FUNCTION keys_of_user(of users) RETURNS text[] LANGUAGE sql IMMUTABLE
RETURN array_remove(ARRAY[login_key((of).username), login_key((of).email), login_key((of).sub)], NULL);

-- The users whom a typed user name or address names: one, except for a pair from before this migration. Of such a pair the exact name comes first,
-- then the name, then the address. Not bound to the columns of today: users gets further ones.
CREATE FUNCTION users_of_login(typed text) RETURNS SETOF users LANGUAGE sql STABLE AS $$
  SELECT u.* FROM (
    SELECT k.sub FROM login_keys k WHERE k.key = login_key(typed)
    UNION ALL
    SELECT s.sub FROM shared_login_keys s WHERE s.key = login_key(typed)) AS held,
    -- LIMIT keeps the plan that uses the index, also if the table was small when it was planned
    LATERAL (SELECT * FROM users WHERE users.sub = held.sub LIMIT 1) AS u
  WHERE login_key(typed) IN (login_key(u.username), login_key(u.email))
  ORDER BY u.username = typed DESC, login_key(u.username) = login_key(typed) DESC, u.sub
$$;

CREATE FUNCTION claim_login_key(claimed text, claimant text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  held login_keys;
BEGIN
  LOOP
    INSERT INTO login_keys (key, sub) VALUES (claimed, claimant) ON CONFLICT DO NOTHING;
    IF FOUND THEN
      RETURN;
    END IF;
    SELECT * INTO held FROM login_keys WHERE key = claimed FOR UPDATE;
    -- else its user has just given it up
    EXIT WHEN FOUND;
  END LOOP;
  IF held.sub = claimant THEN
    RETURN;
  END IF;
  IF NOT held.is_client AND NOT EXISTS (
    SELECT FROM users u WHERE u.sub IN (held.sub, claimant) AND claimed IN (login_key(u.username), login_key(u.email))) THEN
    INSERT INTO shared_login_keys (key, sub) VALUES (claimed, claimant) ON CONFLICT DO NOTHING;
    RETURN;
  END IF;
  -- names neither of the two
  RAISE EXCEPTION 'a user name, an address, a sub or a client_id is already in use'
    USING ERRCODE = 'unique_violation', CONSTRAINT = 'login_keys_pkey', TABLE = 'login_keys';
END $$;

CREATE FUNCTION release_login_key(released text, holder text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  heir text;
BEGIN
  PERFORM FROM login_keys WHERE key = released FOR UPDATE;
  DELETE FROM shared_login_keys WHERE key = released AND sub = holder;
  IF FOUND THEN
    RETURN;
  END IF;
  DELETE FROM shared_login_keys s WHERE s.key = released
     AND s.sub = (SELECT min(other.sub) FROM shared_login_keys other WHERE other.key = released)
  RETURNING s.sub INTO heir;
  IF heir IS NULL THEN
    DELETE FROM login_keys WHERE key = released AND sub = holder AND NOT is_client;
  END IF;
  UPDATE login_keys SET sub = heir WHERE key = released AND sub = holder;
END $$;

-- Keeps the keys of users, whatever changes them.
CREATE FUNCTION keep_user_keys() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  before text[] := CASE TG_OP WHEN 'INSERT' THEN '{}' ELSE keys_of_user(OLD) END;
  after text[] := CASE TG_OP WHEN 'DELETE' THEN '{}' ELSE keys_of_user(NEW) END;
  each text;
BEGIN
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
      RAISE EXCEPTION 'a user name looks like a sub' USING ERRCODE = 'check_violation', CONSTRAINT = 'users_name_is_no_sub', TABLE = 'users';
    END IF;
    PERFORM claim_login_key(each, NEW.sub);
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER users_keys AFTER INSERT OR UPDATE OR DELETE ON users FOR EACH ROW EXECUTE FUNCTION keep_user_keys();

-- Keeps the keys of clients, which may differ by case alone.
CREATE INDEX clients_key ON clients (login_key(client_id));
CREATE FUNCTION keep_client_key() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  released text := login_key(OLD.client_id);
BEGIN
  IF OLD.client_id = NEW.client_id THEN
    RETURN NULL;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO login_keys AS k (key, is_client) VALUES (login_key(NEW.client_id), true)
      ON CONFLICT (key) DO UPDATE SET is_client = true WHERE k.sub IS NULL;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'a client_id is a user name, an address or a sub'
        USING ERRCODE = 'unique_violation', CONSTRAINT = 'login_keys_pkey', TABLE = 'login_keys';
    END IF;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    PERFORM FROM login_keys WHERE key = released FOR UPDATE;
    IF NOT EXISTS (SELECT FROM clients WHERE login_key(client_id) = released) THEN
      DELETE FROM login_keys WHERE key = released AND sub IS NULL;
      UPDATE login_keys SET is_client = false WHERE key = released;
    END IF;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER clients_keys AFTER INSERT OR UPDATE OR DELETE ON clients FOR EACH ROW EXECUTE FUNCTION keep_client_key();

-- What exists is carried over. Of two users the one whom the text has named until now keeps the key: by name before address.
INSERT INTO login_keys (key, sub)
  SELECT DISTINCT ON (key COLLATE "C") key, sub
    FROM users u, LATERAL (VALUES (login_key(u.username), 1), (login_key(u.email), 2), (login_key(u.sub), 3)) AS own (key, place)
   WHERE key IS NOT NULL
   ORDER BY key COLLATE "C", place, sub;
INSERT INTO shared_login_keys (key, sub)
  SELECT DISTINCT k.key, u.sub FROM users u, unnest(keys_of_user(u)) AS own (key) JOIN login_keys k ON k.key = own.key COLLATE "C"
   WHERE k.sub <> u.sub;
INSERT INTO login_keys (key, is_client)
  SELECT DISTINCT login_key(client_id), true FROM clients ON CONFLICT (key) DO UPDATE SET is_client = true;

-- Lists and exports of users in the order of their names.
CREATE INDEX users_by_name ON users ((login_key(username) COLLATE "C"), sub);
-- The previous version finds users by these columns while it still serves. A later migration drops both columns.
CREATE INDEX users_former_username_key ON users (username_key);
CREATE INDEX users_former_email_key ON users (email_key);
