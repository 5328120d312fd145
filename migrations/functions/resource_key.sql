-- Makes the form in which URIs of resources are compared (RFC 3986 6.2.2, 6.2.3): scheme and host in lower case, no default port, and / for an empty
-- path; no more. A test compares it with resourceKey() in src/oauth/resource-key.ts.
CREATE OR REPLACE FUNCTION resource_key(uri text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
  SELECT coalesce(
    (SELECT lower(part[1] COLLATE "und-x-icu") || '://' || coalesce(substring(part[2] FROM '^.*@'), '')
         || regexp_replace(
              lower(regexp_replace(part[2], '^.*@', '') COLLATE "und-x-icu"),
              CASE lower(part[1] COLLATE "und-x-icu") WHEN 'https' THEN ':(443)?$' WHEN 'http' THEN ':(80)?$' ELSE ':$' END, '')
         || CASE WHEN part[3] LIKE '/%' THEN '' ELSE '/' END || part[3]
       FROM regexp_match(uri, '^([^:/?#]+)://([^/?#]*)(.*)$') AS part WHERE part IS NOT NULL),
    lower(substring(uri FROM '^[^:]*') COLLATE "und-x-icu") || coalesce(substring(uri FROM ':.*$'), ''));
END;
