-- Lists the skeleton of a name and, unless it is short, each result of leaving out one letter: two names that share one of these differ in one letter
-- or less. Its cost is high, as that of client_search_terms().
CREATE OR REPLACE FUNCTION name_neighbours(name text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 5000
RETURN ARRAY(
  SELECT skeleton COLLATE "C" AS term FROM name_skeleton(name) AS skeleton WHERE skeleton <> ''
  UNION
  SELECT left(skeleton, n - 1) || substr(skeleton, n + 1)
    FROM name_skeleton(name) AS skeleton, generate_series(1, length(skeleton)) AS n
   WHERE length(skeleton) >= 5);
