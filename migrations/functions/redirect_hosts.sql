-- Lists the host and port of each redirect URI, or the scheme of a native application's redirect URI, as the pages show them. Its cost is high, as that
-- of client_search_terms().
CREATE OR REPLACE FUNCTION redirect_hosts(metadata jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 5000
RETURN ARRAY(
  SELECT DISTINCT left(coalesce(substring(uri FROM '^https?://([^/?#]+)'), substring(uri FROM '^[^:/?#]+:')), 255) COLLATE "C" AS host
    FROM jsonb_array_elements_text(metadata -> 'redirect_uris') AS uri
   WHERE uri ~ '^[^:/?#]+:'
   ORDER BY host);
