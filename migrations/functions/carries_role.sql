-- Tells whether any of these groups carries a role of a client.
CREATE OR REPLACE FUNCTION carries_role(of_groups text[]) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN EXISTS (SELECT FROM client_role_holders h WHERE h.group_name = ANY (of_groups));
