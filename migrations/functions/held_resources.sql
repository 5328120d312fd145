-- Lists the resources among these URIs that a client cannot claim: those of an administrator, and those that another client holds. PostgreSQL reads its
-- body at each call: before version 18 it alters no table whose row type an expression of a function uses.
CREATE OR REPLACE FUNCTION held_resources(claimant text, keys text[]) RETURNS TABLE (id text, resource text, name text, client_id text, since timestamptz)
LANGUAGE sql STABLE AS $$
  SELECT r.id, r.resource, r.name, r.client_id, r.created_at
    FROM resources r LEFT JOIN clients c ON c.client_id = r.client_id
   WHERE resource_key(r.resource) = ANY (keys) AND r.client_id IS DISTINCT FROM claimant AND (NOT r.registered OR holds_resources(c))
   ORDER BY r.created_at, r.resource $$;
