-- Adds scopes, single claims and scopes of resources (`added`) and a redirect URI to what a user has granted to a client. Where the client admits certain groups
-- only, it waits for a change of the user: the end of a lost access finds the clients of the user by the grants (end_lost_access()).
CREATE FUNCTION {{add_to_grant}}(user_sub text, granted_client text, added jsonb, added_redirect_uri text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM clients c WHERE c.client_id = granted_client AND c.access <> 'everyone') THEN
    PERFORM FROM users u WHERE u.sub = user_sub FOR SHARE;
  END IF;
  INSERT INTO grants AS g (sub, client_id, scope, redirect_uris, claims, resources)
    VALUES (user_sub, granted_client, ARRAY(SELECT jsonb_array_elements_text(added -> 'scope')), array_remove(ARRAY[added_redirect_uri], NULL),
            ARRAY(SELECT jsonb_array_elements_text(added -> 'claims')), added -> 'resources')
    ON CONFLICT (sub, client_id) DO UPDATE SET
      scope = {{united}}(g.scope, excluded.scope), claims = {{united}}(g.claims, excluded.claims),
      redirect_uris = {{united}}(g.redirect_uris, excluded.redirect_uris),
      resources = CASE WHEN g.resources @> excluded.resources THEN g.resources ELSE (
        SELECT jsonb_object_agg(id, (SELECT jsonb_agg(DISTINCT value) FROM jsonb_array_elements(
                                       coalesce(g.resources -> id, '[]') || coalesce(excluded.resources -> id, '[]')) AS value))
          FROM jsonb_object_keys(g.resources || excluded.resources) AS id) END,
      updated_at = now();
END $$;
