-- Makes the query for the words of users and groups: each typed word is the beginning of one of them. Null where nothing is asked.
CREATE OR REPLACE FUNCTION user_search(typed text, of_group text, of_status text, is_admin boolean)
  RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT string_agg('''' || replace(replace(word, '\', '\\'), '''', '''''') || '''' || kind, ' & ')::tsquery FROM (
    SELECT left(word, 100), ':*' FROM regexp_split_to_table(folded(typed) COLLATE "und-x-icu", '[[:space:][:cntrl:]]+') AS word WHERE word <> ''
    UNION ALL SELECT chr(1) || 'group ' || left(of_group, 255), '' WHERE of_group IS NOT NULL
    UNION ALL SELECT chr(1) || of_status, '' WHERE of_status IS NOT NULL
    UNION ALL SELECT chr(1) || 'admin', '' WHERE is_admin) AS asked (word, kind);
END;
