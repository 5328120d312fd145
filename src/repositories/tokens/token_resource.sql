-- Chooses the one resource of a token among those of its client session (RFC 8707 2.2, security R12, R139). The result is NULL if the session has none
-- that the request may have: then no token is issued. Its `scope` has the values that registration, resource and grant still allow, `dropped` those that
-- belong to other resources only, `seconds` limits the lifetime, `jwt` says how the token is signed if it is a JWT, and `binding`
-- to what kind of key it must be bound. A session from before resources had scopes has an audience and no resources.
CREATE FUNCTION {{token_resource}}(session_resources jsonb, session_audience text[], session_client text, session_sub text, requested text) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
  chosen jsonb;
  facts jsonb;
BEGIN
  IF session_resources IS NULL THEN
    RETURN CASE WHEN resource_key(requested) = resource_key(session_audience[1]) THEN '{"scope": [], "dropped": []}'::jsonb END;
  END IF;
  IF requested IS NULL AND jsonb_array_length(session_resources) = 1 THEN
    chosen := session_resources -> 0;
  ELSE
    SELECT each.one INTO chosen FROM jsonb_array_elements(session_resources) AS each (one)
     WHERE resource_key(each.one -> 'audience' ->> 0) = resource_key(requested) LIMIT 1;
  END IF;
  IF chosen IS NULL THEN
    RETURN NULL;
  END IF;
  IF chosen ? 'id' THEN
    SELECT jsonb_build_object(
        'scope', coalesce(jsonb_agg(value) FILTER (WHERE r.scopes ? value AND g.granted -> 'resources' -> r.id ? value
                                               AND (r.clients = 'approved' OR value = ANY (string_to_array(c.metadata ->> 'scope', ' ')))), '[]'),
        'seconds', CASE r.access_token_format WHEN 'jwt' THEN least(coalesce(r.access_token_lifetime, 300), 3600) ELSE r.access_token_lifetime END,
        -- the subject that the resource knows would be the same for two clients with pairwise subjects (RFC 9068 6)
        'binding', r.binding,
        'jwt', CASE WHEN r.access_token_format = 'jwt' AND c.metadata ->> 'subject_type' IS DISTINCT FROM 'pairwise' THEN jsonb_build_object(
          'alg', r.access_token_signing_alg, 'audience', chosen -> 'audience' -> 0, 'server', r.client_id, 'claims', r.token_claims) END)
      INTO facts
      FROM resources r
      JOIN clients c ON c.client_id = session_client
      JOIN grants g ON g.sub = session_sub AND g.client_id = session_client
      LEFT JOIN clients server ON server.client_id = r.client_id
      LEFT JOIN jsonb_array_elements_text(chosen -> 'scope') AS granted (value) ON true
     WHERE r.id = chosen ->> 'id' AND (r.client_id IS NULL OR server.status = 'enabled')
       AND (r.clients = 'approved' OR r.scopes ?| string_to_array(c.metadata ->> 'scope', ' '))
     GROUP BY r.id, c.client_id;
    IF facts IS NULL THEN
      RETURN NULL;
    END IF;
    chosen := chosen || facts;
  END IF;
  RETURN chosen || jsonb_build_object(
    'several', jsonb_array_length(session_resources) > 1,
    'dropped', (SELECT coalesce(jsonb_agg(value), '[]') FROM jsonb_array_elements(session_resources) AS each (one), jsonb_array_elements_text(each.one -> 'scope') AS granted (value)
                 WHERE NOT chosen -> 'scope' ? value));
END $$;
