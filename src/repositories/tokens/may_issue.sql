-- The check before issuing (security R133): returns one row with the facts if something may be issued, and none otherwise. Each statement that stores a code
-- or a token asks it in the transaction that stores, so that a fact which changed since the decision issues nothing. PostgreSQL inlines it. A test compares
-- it with mayIssue() in src/rules/access/may-issue.ts.
--   of_user: whose tokens they are; null for a token of the client itself, which needs neither consent nor session
--   at_epoch: the epoch of the client in what is exchanged; null for a new authorization
--   in_session, is_offline: the session, which must live unless the authorization outlives it
--   in_known_browser: whether the authorization began in a browser in which the user is or was signed in; else failed sign-ins pause it (security R63)
--   came_by: the connection by which the user signed in; null for a sign-in by the service itself
--   acts_at: the address of the browser or client that acts, and '' for an unknown one; null where the networks of the client are not asked
CREATE FUNCTION {{may_issue}}(
  of_user text, of_client text, at_epoch integer, in_session bigint, is_offline boolean, in_known_browser boolean, came_by text, acts_at text
) RETURNS TABLE (epoch integer, version integer, registered text[], granted jsonb, session_end timestamptz) LANGUAGE sql STABLE AS $$
  SELECT c.epoch, c.version, string_to_array(c.metadata ->> 'scope', ' '), g.granted, s.expires_at
    FROM clients c
    LEFT JOIN (users u
               JOIN grants g ON g.sub = u.sub AND g.client_id = of_client
               LEFT JOIN sessions s ON s.id = in_session AND s.sub = u.sub AND s.idle_expires_at > now()) ON u.sub = of_user
   WHERE c.client_id = of_client AND c.status = 'enabled' AND c.epoch = coalesce(at_epoch, c.epoch)
     AND (of_user IS NULL
          OR (u.status = 'enabled' AND (is_offline OR s.id IS NOT NULL)
              AND has_access(u.groups, c.access, c.access_groups) AND comes_by(c.connections, came_by)
              AND (in_known_browser OR NOT EXISTS (SELECT FROM sign_in_failures f WHERE f.sub = of_user AND f.held_until > now()))))
     AND CASE WHEN acts_at IS NULL OR c.networks = '{}' THEN true WHEN acts_at = '' THEN false ELSE acts_at::inet <<= ANY (c.networks) END
$$;
