-- Adds scopes, single claims, a redirect URI and scopes of resources to what a user has granted to a client. Where the client admits certain groups only, it
-- waits for a change of the user: the end of a lost access finds the clients of the user by the grants (end_lost_access()).
CREATE FUNCTION {{add_to_grant}}(user_sub text, granted_client text, added_scope text[], added_redirect_uri text, added_claims text[], added_resources jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM clients c WHERE c.client_id = granted_client AND c.access <> 'everyone') THEN
    PERFORM FROM users u WHERE u.sub = user_sub FOR SHARE;
  END IF;
  INSERT INTO grants AS g (sub, client_id, scope, redirect_uris, claims, resources)
    VALUES (user_sub, granted_client, added_scope, array_remove(ARRAY[added_redirect_uri], NULL), added_claims, added_resources)
    ON CONFLICT (sub, client_id) DO UPDATE SET
      scope = {{united}}(g.scope, excluded.scope), claims = {{united}}(g.claims, excluded.claims),
      redirect_uris = {{united}}(g.redirect_uris, excluded.redirect_uris),
      resources = CASE WHEN g.resources @> excluded.resources THEN g.resources ELSE (
        SELECT jsonb_object_agg(id, (SELECT jsonb_agg(DISTINCT value) FROM jsonb_array_elements(
                                       coalesce(g.resources -> id, '[]') || coalesce(excluded.resources -> id, '[]')) AS value))
          FROM jsonb_object_keys(g.resources || excluded.resources) AS id) END,
      updated_at = now();
END $$;
