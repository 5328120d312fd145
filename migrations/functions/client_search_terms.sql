-- Lists the words by which a search finds a client: its id, the words of its name, its redirect hosts, and the domains above them. Its cost is high,
-- so that no plan calls it for row after row where an index has the answer.
CREATE OR REPLACE FUNCTION client_search_terms(client_id text, metadata jsonb) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 5000
RETURN array_to_tsvector(ARRAY(
  SELECT DISTINCT left(login_key(term), 200)
    FROM (
      SELECT client_id
      UNION ALL
      SELECT regexp_split_to_table((metadata ->> 'client_name') COLLATE "und-x-icu", '\s+')
      UNION ALL
      SELECT regexp_split_to_table((metadata ->> 'client_name') COLLATE "und-x-icu", '[\s\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e]+')
      UNION ALL
      SELECT array_to_string(labels[first:], '.')
        FROM unnest(redirect_hosts(metadata)) AS host,
             regexp_split_to_array(host, '\.') AS labels,
             generate_series(1, greatest(cardinality(labels) - 1, 1)) AS first
    ) AS terms (term)
   WHERE term <> ''));
