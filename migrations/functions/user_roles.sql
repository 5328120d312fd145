-- Lists the roles of a user at a client, in order; NULL for none.
CREATE OR REPLACE FUNCTION user_roles(of_sub text, of_groups text[], at_client text) RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT array_agg(role ORDER BY role) FROM (
  SELECT h.role FROM client_role_holders h WHERE h.sub = of_sub AND h.client_id = at_client
  UNION
  SELECT h.role FROM client_role_holders h WHERE h.client_id = at_client AND h.group_name = ANY (of_groups)) AS held);
