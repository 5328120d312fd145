-- Lists the words of a group, whole and in parts, folded as those of users are. user_search() makes the query for both.
CREATE OR REPLACE FUNCTION group_words(name text, description text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000
BEGIN ATOMIC
  WITH words AS (SELECT folded(name || ' ' || description) AS text)
  SELECT coalesce(array_to_tsvector(array_agg(DISTINCT word)), ''::tsvector) FROM (
    SELECT left(word, 100) FROM words, regexp_split_to_table(text COLLATE "und-x-icu", '[[:space:][:cntrl:]]+') AS word WHERE word <> ''
    UNION ALL SELECT left(word, 100) FROM words, regexp_split_to_table(text COLLATE "und-x-icu", '[[:space:][:cntrl:][:punct:]\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e]+') AS word WHERE word <> '') AS found (word);
END;
