-- Finding groups by the beginnings of words of their names and descriptions, by an index: there may be as many as an import brings.

-- The words whole and in their parts, folded as those of users are, and asked for by the same user_search().
CREATE FUNCTION group_words(name text, description text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000
BEGIN ATOMIC
  WITH words AS (SELECT folded(name || ' ' || description) AS text)
  SELECT coalesce(array_to_tsvector(array_agg(DISTINCT word)), ''::tsvector) FROM (
    SELECT left(word, 100) FROM words, regexp_split_to_table(text, '[[:space:][:cntrl:]]+') AS word WHERE word <> ''
    UNION ALL SELECT left(word, 100) FROM words, regexp_split_to_table(text, '[[:space:][:cntrl:][:punct:]]+') AS word WHERE word <> '') AS found (word);
END;

CREATE INDEX groups_words ON groups USING gin (group_words(name, description)) WITH (gin_pending_list_limit = 512);
