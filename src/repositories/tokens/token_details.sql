-- Chooses the authorization details of a token among those that the user allowed (RFC 9396 7, 9.1, security R142): those of enabled types for which the
-- client is registered, and of them those for the resource of the token. A type without resources is for every token. It locks the types, as their
-- changes do. The result is NULL if the client names an object that is not among them: each is compared as a whole, with or without its `id`.
CREATE FUNCTION {{token_details}}(session_details jsonb, session_client text, token_resource text, requested jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  held jsonb;
BEGIN
  PERFORM FROM authorization_details_types t
    WHERE t.type IN (SELECT one ->> 'type' FROM jsonb_array_elements(session_details) AS each (one)) ORDER BY t.type FOR SHARE;
  SELECT coalesce(jsonb_agg(each.one ORDER BY each.place), '[]') INTO held
    FROM jsonb_array_elements(coalesce(session_details, '[]')) WITH ORDINALITY AS each (one, place)
    JOIN authorization_details_types t ON t.type = each.one ->> 'type' AND t.status = 'enabled'
    JOIN clients c ON c.client_id = session_client AND c.metadata -> 'authorization_details_types' ? t.type
   WHERE t.resources = '{}'
      OR resource_key(token_resource) IN (SELECT resource_key(uri) FROM unnest(t.resources) AS uri)
         AND (NOT each.one ? 'locations'
              OR resource_key(token_resource) IN (SELECT resource_key(uri) FROM jsonb_array_elements_text(each.one -> 'locations') AS uri));
  IF requested IS NULL THEN
    RETURN held;
  END IF;
  IF EXISTS (SELECT FROM jsonb_array_elements(requested) AS asked (one)
              WHERE NOT EXISTS (SELECT FROM jsonb_array_elements(held) AS each (one) WHERE asked.one IN (each.one, each.one - 'id'))) THEN
    RETURN NULL;
  END IF;
  RETURN (SELECT jsonb_agg(each.one ORDER BY each.place) FROM jsonb_array_elements(held) WITH ORDINALITY AS each (one, place)
           WHERE EXISTS (SELECT FROM jsonb_array_elements(requested) AS asked (one) WHERE asked.one IN (each.one, each.one - 'id')));
END $$;
