-- Says whether an address can be stored as it is, but for the case of its domain.
CREATE OR REPLACE FUNCTION has_a_label(address text) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN address ~ '^[^@"]+@[^@]+$'
   AND lower(substring(address FROM '@([^@]*)$') COLLATE "C") ~ '^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$';
