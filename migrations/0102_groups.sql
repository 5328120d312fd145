-- Groups. A group exists from the moment when an administrator creates it or adds a user to it, until it is deleted. users.groups holds the
-- members of each group.
CREATE TABLE groups (
  name text PRIMARY KEY,
  description text NOT NULL DEFAULT '' CHECK (char_length(description) <= 1000),
  -- without the rows of group_changes, which are not added yet
  members bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);

-- How many members each statement added or removed: no transaction waits for the count of another. The clean-up adds them to groups.members.
CREATE TABLE group_changes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  change bigint NOT NULL
);
CREATE INDEX group_changes_name ON group_changes (name);

-- The words of a group, whole and in parts, folded as those of users are. user_search() makes the query for both.
CREATE FUNCTION group_words(name text, description text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000
BEGIN ATOMIC
  WITH words AS (SELECT folded(name || ' ' || description) AS text)
  SELECT coalesce(array_to_tsvector(array_agg(DISTINCT word)), ''::tsvector) FROM (
    SELECT left(word, 100) FROM words, regexp_split_to_table(text, '[[:space:][:cntrl:]]+') AS word WHERE word <> ''
    UNION ALL SELECT left(word, 100) FROM words, regexp_split_to_table(text, '[[:space:][:cntrl:][:punct:]]+') AS word WHERE word <> '') AS found (word);
END;
CREATE INDEX groups_words ON groups USING gin (group_words(name, description)) WITH (gin_pending_list_limit = 512);
