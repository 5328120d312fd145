-- Adds scopes, single claims and a redirect URI to what a user has granted to a client.
CREATE FUNCTION {{add_to_grant}}(user_sub text, granted_client text, added_scope text[], added_redirect_uri text, added_claims text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO grants AS g (sub, client_id, scope, redirect_uris, claims)
    VALUES (user_sub, granted_client, added_scope, array_remove(ARRAY[added_redirect_uri], NULL), added_claims)
    ON CONFLICT (sub, client_id) DO UPDATE SET
      scope = {{united}}(g.scope, excluded.scope), claims = {{united}}(g.claims, excluded.claims),
      redirect_uris = {{united}}(g.redirect_uris, excluded.redirect_uris), updated_at = now();
END $$;
