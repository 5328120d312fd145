-- What is kept of a user for the search has a bound. Letters that stand for several, as those of one Arabic formula do for eighteen, are
-- taken apart before words are cut; so many of them in each name, beside very many groups, were more than a tsvector holds: the
-- user could not be saved. Two thousand characters of names hold all that people are looked for by.
--
-- Nobody gets words that were not kept before, but for the beginning of the last one that is cut, by which the whole one is found just
-- as well: the index stays right as it is, and need not be made again.
CREATE OR REPLACE FUNCTION user_words(username text, email text, claims jsonb, groups text[], status text, admin boolean)
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
