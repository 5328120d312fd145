-- Stores a backchannel authentication request (OpenID Connect CIBA Core 7.1, security R144). `outcome` is 'stored'; 'full' if the client has too many
-- requests that wait, or too many for this hint; 'unknown' if nobody can answer it and the client may learn that; or 'replayed' if its DPoP proof (as for
-- use_proof()) was used before. `person` is the user whom it reaches. Any other client gets the same answer for a hint of nobody, of a user who cannot answer,
-- and of one who has granted it nothing: the request is stored and counted, and reaches nobody. The lock puts the requests of one client in turn.
--   request: client_id, sub (of the hinted user; null for nobody), hint, code (hashes in hex), id, scope, audience, details, message, acr_values, cnf, interval, seconds,
--     per_hint, per_day, per_client (how many may wait for one hint, be made for it in a day (0 for any number), and wait in all)
CREATE FUNCTION {{store_backchannel_request}}(request jsonb, notification bytea, proof jsonb, OUT outcome text, OUT person text) LANGUAGE plpgsql AS $$
DECLARE
  asking text := request ->> 'client_id';
  hint bytea := decode(request ->> 'hint', 'hex');
  per_hint integer := (request -> 'per_hint')::integer;
  per_day integer := (request -> 'per_day')::integer;
  per_client integer := (request -> 'per_client')::integer;
  is_trusted boolean;
  is_full boolean;
  is_mailed boolean;
BEGIN
  PERFORM pg_advisory_xact_lock(53, hashtext(asking));
  outcome := 'full';
  SELECT (per_day > 0 AND count(*) >= per_day) OR count(*) FILTER (WHERE b.decision IS NULL AND b.expires_at > now()) >= per_hint INTO is_full
    FROM backchannel_requests b WHERE b.client_id = asking AND b.hint_hash = hint AND b.created_at > now() - interval '1 day';
  IF is_full THEN
    RETURN;
  END IF;
  SELECT count(*) >= per_client INTO is_full
    FROM (SELECT FROM backchannel_requests b WHERE b.client_id = asking AND b.decision IS NULL AND b.expires_at > now() LIMIT per_client) AS waiting;
  IF is_full THEN
    RETURN;
  END IF;
  SELECT c.ciba_trusted INTO is_trusted FROM clients c WHERE c.client_id = asking;
  SELECT u.sub INTO person
    FROM users u JOIN clients c ON c.client_id = asking
   WHERE u.sub = request ->> 'sub' AND u.status = 'enabled' AND has_access(u.groups, c.access, c.access_groups)
     AND NOT EXISTS (SELECT FROM sign_in_failures f WHERE f.sub = u.sub AND f.held_until > now())
     AND (c.ciba_trusted OR EXISTS (SELECT FROM grants g WHERE g.sub = u.sub AND g.client_id = asking));
  IF person IS NULL AND is_trusted THEN
    outcome := 'unknown';
    RETURN;
  END IF;
  IF person IS NOT NULL THEN
    -- under other hints: that two of them name one user is told to a trusted client only
    SELECT (per_day > 0 AND count(*) >= per_day) OR count(*) FILTER (WHERE b.decision IS NULL AND b.expires_at > now()) >= per_hint INTO is_full
      FROM backchannel_requests b WHERE b.sub = person AND b.client_id = asking AND b.created_at > now() - interval '1 day';
    IF is_full AND is_trusted THEN
      RETURN;
    ELSIF is_full THEN
      person := NULL;
    END IF;
  END IF;
  IF proof IS NOT NULL AND NOT {{use_proof}}(proof) THEN
    outcome := 'replayed';
    RETURN;
  END IF;
  is_mailed := person IS NOT NULL AND NOT EXISTS (
    SELECT FROM backchannel_requests b WHERE b.sub = person AND b.client_id = asking AND b.mailed AND b.created_at > now() - interval '1 hour');
  INSERT INTO backchannel_requests
    (auth_req_id_hash, id, client_id, hint_hash, sub, scope, audience, details, binding_message, acr_values, cnf, notification_encrypted, mailed, poll_interval,
     expires_at)
    VALUES (decode(request ->> 'code', 'hex'), request ->> 'id', asking, hint, person, request ->> 'scope',
            CASE WHEN request -> 'audience' IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(request -> 'audience')) END, request -> 'details',
            request ->> 'message', ARRAY(SELECT jsonb_array_elements_text(request -> 'acr_values')), request -> 'cnf', notification, is_mailed,
            (request -> 'interval')::integer, now() + make_interval(secs => (request -> 'seconds')::double precision));
  IF is_mailed THEN
    INSERT INTO outbox (channel, name, sub, client_id, data)
      SELECT 'mail', 'approval-requested', person, asking, jsonb_build_object('request', request ->> 'id')
        FROM users u WHERE u.sub = person AND u.email_verified AND u.email IS NOT NULL;
  END IF;
  outcome := 'stored';
END $$;
