-- Lists the scopes of the table scopes for which a client is registered, each with its text and its claims; NULL for none.
CREATE OR REPLACE FUNCTION own_scopes(metadata jsonb) RETURNS jsonb LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT jsonb_object_agg(s.name, jsonb_build_object('text', s.text, 'claims', s.claims))
          FROM scopes s WHERE s.name = ANY (string_to_array(metadata ->> 'scope', ' ')));
