-- Adds scopes, single claims and a redirect URI to what a user has granted to a client.
CREATE FUNCTION {{add_to_grant}}(whose text, of_client text, more_scope text[], to_redirect_uri text, more_claims text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO grants AS g (sub, client_id, scope, redirect_uris, claims)
    VALUES (whose, of_client, more_scope, ARRAY[to_redirect_uri], more_claims)
    ON CONFLICT (sub, client_id) DO UPDATE SET
      scope = {{united}}(g.scope, excluded.scope), claims = {{united}}(g.claims, excluded.claims),
      redirect_uris = {{united}}(g.redirect_uris, excluded.redirect_uris), updated_at = now();
END $$;
