-- Searching a million users by the words of their names and by what they are, and the groups with how many members they have.

-- Text as it is compared in a search: without case, accents and the points of vowels, as far as PostgreSQL knows them by itself.
CREATE FUNCTION folded(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN replace(replace(replace(translate(
    lower(regexp_replace(normalize(value, NFKD), '[\u0300-\u036f\u064b-\u0655\u05b0-\u05c7]', '', 'g')),
    'łøđðħıŧþ', 'loddhitt'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe');

-- By what a user is found: the words of the names, whole and in their parts, the address, its host; and, behind a character that no word
-- holds, the groups, the status and the power. The bodies are bound as they are made: a dump restores the index without a search path.
CREATE FUNCTION user_words(username text, email text, claims jsonb, groups text[], status text, admin boolean)
  RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000
BEGIN ATOMIC
  WITH names AS (
    SELECT folded(username || ' ' || coalesce(email, '') || ' ' || coalesce(split_part(email, '@', 2), '')
      || ' ' || coalesce(claims ->> 'name', '') || ' ' || coalesce(claims ->> 'given_name', '')
      || ' ' || coalesce(claims ->> 'middle_name', '') || ' ' || coalesce(claims ->> 'family_name', '')
      || ' ' || coalesce(claims ->> 'nickname', '') || ' ' || coalesce(claims ->> 'preferred_username', '')) AS text)
  SELECT array_to_tsvector(array_agg(DISTINCT word)) FROM (
    SELECT left(word, 100) FROM names, regexp_split_to_table(text, '[[:space:][:cntrl:]]+') AS word WHERE word <> ''
    UNION ALL SELECT left(word, 100) FROM names, regexp_split_to_table(text, '[[:space:][:cntrl:][:punct:]]+') AS word WHERE word <> ''
    UNION ALL SELECT chr(1) || 'group ' || left(name, 255) FROM unnest(groups) AS name
    UNION ALL SELECT chr(1) || status
    UNION ALL SELECT chr(1) || 'admin' WHERE admin) AS found (word);
END;

-- What is asked of them: each typed word begins one of theirs. Null where nothing is asked.
CREATE FUNCTION user_search(typed text, of_group text, of_status text, is_admin boolean)
  RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT string_agg('''' || replace(replace(word, '\', '\\'), '''', '''''') || '''' || kind, ' & ')::tsquery FROM (
    SELECT left(word, 100), ':*' FROM regexp_split_to_table(folded(typed), '[[:space:][:cntrl:]]+') AS word WHERE word <> ''
    UNION ALL SELECT chr(1) || 'group ' || left(of_group, 255), '' WHERE of_group IS NOT NULL
    UNION ALL SELECT chr(1) || of_status, '' WHERE of_status IS NOT NULL
    UNION ALL SELECT chr(1) || 'admin', '' WHERE is_admin) AS asked (word, kind);
END;

-- The pending list is read by each search: it stays short.
CREATE INDEX users_words ON users USING gin (user_words(username, email, claims, groups, status, admin))
  WITH (gin_pending_list_limit = 512);

-- A group exists from the moment when somebody makes it or puts a user into it, and until it is deleted. users.groups says who is in it.
CREATE TABLE groups (
  name text PRIMARY KEY,
  description text NOT NULL DEFAULT '' CHECK (char_length(description) <= 1000),
  -- without what group_changes still holds
  members bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
-- How many came and went, a row for each statement: nobody waits for another's count. The clean-up adds them up.
CREATE TABLE group_changes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  change bigint NOT NULL
);
CREATE INDEX group_changes_name ON group_changes (name);

CREATE FUNCTION count_group_members() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  names text[];
  changes bigint[];
  joined text[];
BEGIN
  IF TG_OP = 'INSERT' THEN
    SELECT array_agg(name), array_agg(n) INTO names, changes FROM (
      SELECT name, count(DISTINCT sub) FROM new_rows, unnest(groups) AS name GROUP BY name) AS c (name, n);
  ELSIF TG_OP = 'DELETE' THEN
    SELECT array_agg(name), array_agg(n) INTO names, changes FROM (
      SELECT name, -count(DISTINCT sub) FROM old_rows, unnest(groups) AS name GROUP BY name) AS c (name, n);
  ELSE
    SELECT array_agg(name), array_agg(n) INTO names, changes FROM (
      SELECT name, sum(change) FROM (
        SELECT DISTINCT n.sub, name, 1 FROM new_rows n JOIN old_rows o USING (sub), unnest(n.groups) AS name WHERE n.groups <> o.groups
        UNION ALL
        SELECT DISTINCT o.sub, name, -1 FROM new_rows n JOIN old_rows o USING (sub), unnest(o.groups) AS name WHERE n.groups <> o.groups
      ) AS c (sub, name, change) GROUP BY name HAVING sum(change) <> 0) AS c (name, n);
  END IF;
  IF names IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT array_agg(name ORDER BY name) INTO joined FROM unnest(names, changes) AS c (name, n) WHERE n > 0;
  IF joined IS NOT NULL THEN
    -- whoever deletes a group holds its row: that is waited for, and then the group begins anew
    PERFORM FROM groups WHERE name = ANY (joined) ORDER BY name FOR KEY SHARE;
    INSERT INTO groups (name) SELECT unnest(joined) ON CONFLICT DO NOTHING;
  END IF;
  INSERT INTO group_changes (name, change) SELECT * FROM unnest(names, changes);
  RETURN NULL;
END $$;
CREATE TRIGGER users_join_groups AFTER INSERT ON users REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION count_group_members();
CREATE TRIGGER users_leave_groups AFTER DELETE ON users REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION count_group_members();
CREATE TRIGGER users_change_groups AFTER UPDATE ON users REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION count_group_members();

-- the triggers keep everybody from changing a user until this is committed
INSERT INTO groups (name, members) SELECT name, count(DISTINCT sub) FROM users, unnest(groups) AS name GROUP BY name;
