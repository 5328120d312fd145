-- Creates the tables of users, and of the texts that name them.

-- Columns of one width come first, then short ones, then long ones, in every table that requests read: PostgreSQL finds a column by walking over those
-- before it.
CREATE TABLE users (
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  updated_at timestamptz NOT NULL DEFAULT now(),
  email_verified boolean NOT NULL DEFAULT false,
  admin boolean NOT NULL DEFAULT false,
  sub text PRIMARY KEY DEFAULT gen_random_uuid()::text CHECK (sub ~ '^[!-~]{1,255}$'),
  username text NOT NULL CHECK (char_length(username) BETWEEN 1 AND 255),
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('disabled', 'enabled')),
  email text CHECK (char_length(email) BETWEEN 3 AND 320),
  -- the union of group_memberships
  groups text[] NOT NULL DEFAULT '{}' CHECK (array_position(groups, NULL) IS NULL),
  -- standard claims under their names (OpenID Connect Core 5.1), except those that have a column, and attributes under theirs
  claims jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(claims) = 'object'),
  -- our own mail, an administrator, a connection with authority over the domain, or a connection by its word only; counts while email_verified is true
  email_confirmed_by text CHECK (email_confirmed_by IN ('mail', 'administrator', 'authority', 'word')),
  password_hash text
);
CREATE INDEX users_newest ON users (created_at DESC, sub DESC);
-- lists and exports of users in the order of their names
CREATE INDEX users_by_name ON users ((login_key(username) COLLATE "C"), sub);
-- Hashes that another system made, or that were made with other parameters. The dummy hash for an unknown user name is chosen by their share.
-- The query in src/repositories repeats this condition.
CREATE INDEX users_other_hashes ON users (sub)
  WHERE password_hash IS NOT NULL AND password_hash NOT LIKE '$argon2id$v=19$m=19456,t=2,p=1$%';
-- each search reads the pending list, so it stays short
CREATE INDEX users_words ON users USING gin (user_words(username, email, claims, groups, status, admin))
  WITH (gin_pending_list_limit = 512);
-- what an administrator looks through when a connection gets authority over a domain
CREATE INDEX users_confirmed_by_word ON users (sub) WHERE email_verified AND email_confirmed_by = 'word';

CREATE TRIGGER users_confirmed_by BEFORE INSERT OR UPDATE OF email_verified ON users
  FOR EACH ROW WHEN (NEW.email_verified AND NEW.email_confirmed_by IS NULL) EXECUTE FUNCTION address_is_confirmed();
CREATE TRIGGER users_address_insert BEFORE INSERT ON users
  FOR EACH ROW WHEN (NEW.email IS NOT NULL) EXECUTE FUNCTION address_is_stored();
CREATE TRIGGER users_address_update BEFORE UPDATE OF email ON users
  FOR EACH ROW WHEN (NEW.email IS DISTINCT FROM OLD.email AND NEW.email IS NOT NULL) EXECUTE FUNCTION address_is_stored();
CREATE TRIGGER users_keys AFTER INSERT OR UPDATE OR DELETE ON users FOR EACH ROW EXECUTE FUNCTION keep_user_keys();
CREATE TRIGGER users_inserted AFTER INSERT ON users REFERENCING NEW TABLE AS after
  FOR EACH STATEMENT EXECUTE FUNCTION users_are_inserted();
CREATE TRIGGER users_deleted AFTER DELETE ON users REFERENCING OLD TABLE AS before
  FOR EACH STATEMENT EXECUTE FUNCTION users_are_deleted();
CREATE TRIGGER users_updated AFTER UPDATE ON users REFERENCING OLD TABLE AS before NEW TABLE AS after
  FOR EACH STATEMENT EXECUTE FUNCTION users_are_updated();
CREATE TRIGGER users_end_unasked_links AFTER UPDATE OF admin ON users
  FOR EACH ROW WHEN (NEW.admin AND NOT OLD.admin) EXECUTE FUNCTION end_unasked_links();
CREATE TRIGGER users_end_links_of_guarded AFTER UPDATE OF groups ON users
  FOR EACH ROW WHEN (NEW.groups IS DISTINCT FROM OLD.groups) EXECUTE FUNCTION end_unasked_links('guarded-group');
CREATE CONSTRAINT TRIGGER users_by_sql AFTER INSERT OR UPDATE OR DELETE ON users
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_user_change_by_sql();

-- One key space for every text that names a user or a client, so that no text names two of them (security R153). The primary key decides between two
-- transactions.
CREATE TABLE login_keys (
  key text COLLATE "C" PRIMARY KEY,
  -- the user whose name, address or sub has the key; null for a client's key
  sub text,
  -- whether the key is that of a client_id
  is_client boolean NOT NULL DEFAULT false,
  CHECK (sub IS NOT NULL OR is_client)
);
-- each start lists the pairs that are exempt from the rule of login_keys
CREATE INDEX login_keys_of_both ON login_keys (key) WHERE is_client AND sub IS NOT NULL;

-- Further users with a key of login_keys. Pairs from before there were keys are exempt until one of the two is changed. Subs may differ by
-- case alone: no user is found by the key of a sub.
CREATE TABLE shared_login_keys (
  key text COLLATE "C" NOT NULL,
  sub text NOT NULL,
  PRIMARY KEY (key, sub)
);

-- Users whose address was stored before without the A-label of its domain. PostgreSQL has no IDNA, so the service tries each once, and each start
-- lists those that stay (security R158).
CREATE TABLE unstored_addresses (
  sub text PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  found_at timestamptz NOT NULL DEFAULT now(),
  tried_at timestamptz,
  -- the sub of the user, or the client, that the address in its stored form names already
  other text
);
CREATE INDEX unstored_addresses_left ON unstored_addresses (sub) WHERE tried_at IS NULL;

-- Users who may sign in here although the domain of their address is enforced: a way in while the connection is out of order (federation 4).
CREATE TABLE break_glass (
  sub text PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  since timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);

-- Imports of users from the console: their progress, and the rows that they refused. No value of the imported file is stored here, since it
-- may hold password hashes: a report needs only the line, the column and the reason.
CREATE TABLE user_imports (
  -- made with the form, so that a form which is sent twice starts one import
  id uuid PRIMARY KEY,
  started_by text NOT NULL,
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'done', 'stopped')),
  -- the number of lines, and the line up to which all rows are stored or refused
  lines integer NOT NULL CHECK (lines >= 0),
  line integer NOT NULL DEFAULT 0 CHECK (line >= 0),
  created integer NOT NULL DEFAULT 0,
  updated integer NOT NULL DEFAULT 0,
  unchanged integer NOT NULL DEFAULT 0,
  refused integer NOT NULL DEFAULT 0,
  -- the first refused rows, each with line, column and reason
  refusals jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(refusals) = 'array'),
  -- rows that were stored, and of which an administrator should know (security R154)
  notes jsonb NOT NULL DEFAULT '[]',
  started_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  -- the last heartbeat of the importing instance
  seen_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL DEFAULT now() + interval '7 days'
);
CREATE INDEX user_imports_expires_at ON user_imports (expires_at);
