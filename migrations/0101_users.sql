-- Users. The names by which a user signs in are folded here, so that no spelling of one name makes a second account.
CREATE TABLE users (
  sub text PRIMARY KEY DEFAULT gen_random_uuid()::text CHECK (sub ~ '^[!-~]{1,255}$'),
  username text NOT NULL CHECK (char_length(username) BETWEEN 1 AND 255),
  username_key text NOT NULL GENERATED ALWAYS AS (lower(normalize(btrim(username), NFKC))) STORED UNIQUE,
  email text CHECK (char_length(email) BETWEEN 3 AND 320),
  email_key text GENERATED ALWAYS AS (lower(normalize(btrim(email), NFKC))) STORED UNIQUE,
  email_verified boolean NOT NULL DEFAULT false,
  password_hash text,
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('disabled', 'enabled')),
  admin boolean NOT NULL DEFAULT false,
  groups text[] NOT NULL DEFAULT '{}' CHECK (array_position(groups, NULL) IS NULL),
  -- standard claims under their names (OpenID Connect Core 5.1), except those that have a column
  claims jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(claims) = 'object'),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX users_newest ON users (created_at DESC, sub DESC);
-- Hashes that another system made, or that were made with other parameters. The dummy hash for an unknown user name is chosen by their share.
-- The query in src/repositories repeats this condition.
CREATE INDEX users_other_hashes ON users (sub)
  WHERE password_hash IS NOT NULL AND password_hash NOT LIKE '$argon2id$v=19$m=19456,t=2,p=1$%';

-- Folds text for a search: without case, accents and vowel points, as far as PostgreSQL knows them by itself.
CREATE FUNCTION folded(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN replace(replace(replace(translate(
    lower(regexp_replace(normalize(value, NFKD), '[\u0300-\u036f\u064b-\u0655\u05b0-\u05c7]', '', 'g')),
    'łøđðħıŧþ', 'loddhitt'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe');

-- The words by which a search finds a user: of the names, whole and in parts, of the address and its host. Groups, status and administrator
-- rights are words that begin with a character which no typed word holds. The name part is cut at 2,000 characters, so that the result
-- always fits into a tsvector. Function bodies are bound when they are created: a dump then restores the index without a search path.
CREATE FUNCTION user_words(username text, email text, claims jsonb, groups text[], status text, admin boolean)
  RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000
BEGIN ATOMIC
  WITH names AS (
    SELECT left(folded(left(username || ' ' || coalesce(email, '') || ' ' || coalesce(split_part(email, '@', 2), '')
      || ' ' || coalesce(claims ->> 'name', '') || ' ' || coalesce(claims ->> 'given_name', '')
      || ' ' || coalesce(claims ->> 'middle_name', '') || ' ' || coalesce(claims ->> 'family_name', '')
      || ' ' || coalesce(claims ->> 'nickname', '') || ' ' || coalesce(claims ->> 'preferred_username', ''), 2000)), 2000) AS text)
  SELECT array_to_tsvector(array_agg(DISTINCT word)) FROM (
    SELECT left(word, 100) FROM names, regexp_split_to_table(text, '[[:space:][:cntrl:]]+') AS word WHERE word <> ''
    UNION ALL SELECT left(word, 100) FROM names, regexp_split_to_table(text, '[[:space:][:cntrl:][:punct:]]+') AS word WHERE word <> ''
    UNION ALL SELECT chr(1) || 'group ' || left(name, 255) FROM unnest(groups) AS name
    UNION ALL SELECT chr(1) || status
    UNION ALL SELECT chr(1) || 'admin' WHERE admin) AS found (word);
END;

-- The query for these words: each typed word is the beginning of one of them. Null where nothing is asked.
CREATE FUNCTION user_search(typed text, of_group text, of_status text, is_admin boolean)
  RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT string_agg('''' || replace(replace(word, '\', '\\'), '''', '''''') || '''' || kind, ' & ')::tsquery FROM (
    SELECT left(word, 100), ':*' FROM regexp_split_to_table(folded(typed), '[[:space:][:cntrl:]]+') AS word WHERE word <> ''
    UNION ALL SELECT chr(1) || 'group ' || left(of_group, 255), '' WHERE of_group IS NOT NULL
    UNION ALL SELECT chr(1) || of_status, '' WHERE of_status IS NOT NULL
    UNION ALL SELECT chr(1) || 'admin', '' WHERE is_admin) AS asked (word, kind);
END;

-- Each search reads the pending list, so it stays short.
CREATE INDEX users_words ON users USING gin (user_words(username, email, claims, groups, status, admin))
  WITH (gin_pending_list_limit = 512);

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
  started_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  -- the last heartbeat of the importing instance
  seen_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL DEFAULT now() + interval '7 days'
);
CREATE INDEX user_imports_expires_at ON user_imports (expires_at);
