-- Ends what users have of a client that they may no longer use: codes, handles, all tokens and the part in their sessions, with the logout messages and an
-- event for each user who had something. Users who may use the client keep what they have; so do sessions that came by a connection that the client allows.
-- Returns the number of users who lost something.
--
-- It locks sessions first and then client sessions, each by id, as what issues and ends them does.
CREATE FUNCTION {{end_access}}(of_client text, subs text[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  lost text[];
  allowed text[];
  ended text[];
BEGIN
  SELECT c.connections INTO allowed FROM clients c WHERE c.client_id = of_client;
  lost := ARRAY(SELECT u.sub FROM users u JOIN clients c ON c.client_id = of_client
                 WHERE u.sub = ANY (subs) AND NOT has_access(u.groups, c.access, c.access_groups));
  -- of the others, only what came by another connection ends
  IF lost = '{}' AND coalesce(allowed, '{}') = '{}' THEN
    RETURN 0;
  END IF;
  PERFORM FROM sessions s WHERE s.sub = ANY (subs) AND (s.sub = ANY (lost) OR NOT comes_by(allowed, s.connection_id))
      AND EXISTS (SELECT FROM session_clients sc WHERE sc.session_id = s.id AND sc.client_id = of_client)
    ORDER BY s.id FOR NO KEY UPDATE;
  PERFORM FROM client_sessions cs WHERE cs.client_id = of_client AND cs.sub = ANY (subs) AND (cs.sub = ANY (lost) OR NOT comes_by(allowed, cs.connection_id))
    ORDER BY cs.id FOR UPDATE;
  -- a session that merely expired notifies no client
  INSERT INTO logout_deliveries (client_id, sub, subject, sid)
    SELECT of_client, s.sub, sc.subject, s.sid
      FROM sessions s JOIN session_clients sc ON sc.session_id = s.id AND sc.client_id = of_client
      JOIN clients c ON c.client_id = of_client AND c.status = 'enabled' AND c.metadata ? 'backchannel_logout_uri'
     WHERE s.sub = ANY (subs) AND (s.sub = ANY (lost) OR NOT comes_by(allowed, s.connection_id)) AND s.idle_expires_at > now();
  IF FOUND THEN
    PERFORM pg_notify('gatehouse', 'logout');
  END IF;
  -- a device that was approved, and has not polled yet, learns that it was refused
  UPDATE device_authorizations d SET decision = 'denied'
    FROM authorization_codes ac JOIN client_sessions cs ON cs.id = ac.client_session_id
   WHERE cs.client_id = of_client AND cs.sub = ANY (subs) AND (cs.sub = ANY (lost) OR NOT comes_by(allowed, cs.connection_id))
     AND cs.by_device AND ac.redeemed_at IS NULL AND d.device_code_hash = ac.code_hash;
  WITH parts AS (
    DELETE FROM session_clients sc USING sessions s
     WHERE s.id = sc.session_id AND s.sub = ANY (subs) AND (s.sub = ANY (lost) OR NOT comes_by(allowed, s.connection_id)) AND sc.client_id = of_client
    RETURNING s.sub),
  families AS (
    DELETE FROM client_sessions WHERE client_id = of_client AND sub = ANY (subs) AND (sub = ANY (lost) OR NOT comes_by(allowed, connection_id)) RETURNING sub)
  SELECT array_agg(sub) INTO ended FROM (SELECT sub FROM parts UNION SELECT sub FROM families) AS gone;
  PERFORM record_event(jsonb_build_object('type', 'access.lost', 'outcome', 'success', 'actor', 'service', 'sub', sub, 'client_id', of_client,
    'detail', jsonb_build_object('reason', CASE WHEN sub = ANY (lost) THEN 'not_in_group' ELSE 'connection_not_allowed' END)))
    FROM unnest(ended) AS sub;
  RETURN coalesce(cardinality(ended), 0);
END $$;
