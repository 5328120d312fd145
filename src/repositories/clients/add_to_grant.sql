-- Adds `added` and a redirect URI to what a user has granted to a client. Where the client admits certain groups
-- only, it waits for a change of the user: the end of a lost access finds the clients of the user by the grants (end_lost_access()).
CREATE FUNCTION {{add_to_grant}}(user_sub text, granted_client text, added jsonb, added_redirect_uri text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM clients c WHERE c.client_id = granted_client AND c.access <> 'everyone') THEN
    PERFORM FROM users u WHERE u.sub = user_sub FOR SHARE;
  END IF;
  INSERT INTO grants AS g (sub, client_id, granted, redirect_uris)
    VALUES (user_sub, granted_client, added, array_remove(ARRAY[added_redirect_uri], NULL))
    ON CONFLICT (sub, client_id) DO UPDATE SET
      -- an object of details with fewer members is another one: containment does not compare them
      granted = CASE WHEN g.granted @> excluded.granted AND NOT excluded.granted ? 'details' THEN g.granted ELSE {{united}}(g.granted, excluded.granted) END,
      redirect_uris = CASE WHEN g.redirect_uris @> excluded.redirect_uris THEN g.redirect_uris ELSE g.redirect_uris || excluded.redirect_uris END,
      updated_at = now();
END $$;
