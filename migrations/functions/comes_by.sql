-- Says whether a sign-in is enough for a client; `by` is null for a sign-in by the service itself. It is asked wherever has_access() is. A test compares
-- it with mayUse() in src/rules/access/access.ts.
CREATE OR REPLACE FUNCTION comes_by(connections text[], by text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN connections = '{}' OR coalesce(by, '') = ANY (connections);
