-- Lists the words by which a search finds a user: of the names, whole and in parts, of the address and its host. Groups, status and administrator
-- rights are words that begin with a character which no typed word holds. The name part is cut at 2,000 characters, so that the result
-- always fits into a tsvector. Its body is bound when it is created: a dump then restores the index without a search path.
CREATE OR REPLACE FUNCTION user_words(username text, email text, claims jsonb, groups text[], status text, admin boolean)
  RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000
BEGIN ATOMIC
  WITH names AS (
    SELECT left(folded(left(username || ' ' || coalesce(email, '') || ' ' || coalesce(split_part(email, '@', 2), '')
      || ' ' || coalesce(claims ->> 'name', '') || ' ' || coalesce(claims ->> 'given_name', '')
      || ' ' || coalesce(claims ->> 'middle_name', '') || ' ' || coalesce(claims ->> 'family_name', '')
      || ' ' || coalesce(claims ->> 'nickname', '') || ' ' || coalesce(claims ->> 'preferred_username', ''), 2000)), 2000) AS text)
  SELECT array_to_tsvector(array_agg(DISTINCT word)) FROM (
    SELECT left(word, 100) FROM names, regexp_split_to_table(text COLLATE "und-x-icu", '[[:space:][:cntrl:]]+') AS word WHERE word <> ''
    UNION ALL SELECT left(word, 100) FROM names, regexp_split_to_table(text COLLATE "und-x-icu", '[[:space:][:cntrl:][:punct:]\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e]+') AS word WHERE word <> ''
    UNION ALL SELECT chr(1) || 'group ' || left(name, 255) FROM unnest(groups) AS name
    UNION ALL SELECT chr(1) || status
    UNION ALL SELECT chr(1) || 'admin' WHERE admin) AS found (word);
END;
