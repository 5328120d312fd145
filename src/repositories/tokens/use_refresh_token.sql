-- Uses a refresh token (security R12, R31, R32, R33, R34, R35, R36). It locks the client session first, then stores and counts the use. The count
-- decides the result: a successor, a refusal, or the end of the client session. `failure` is NULL if tokens were issued; the result is NULL for an unknown
-- token. A test compares it with decideRefresh() in src/oauth/refresh-rotation.ts.
--   expected: client_id, scope (a narrower one; null for the whole), resource, details (to which the access token is limited; null for all), grace_seconds, grace_uses, proof (as for use_proof(); null without one)
--   issue: rotates, access_token, refresh_token (hashes in hex), access_seconds, refresh_seconds, client_session_seconds,
--     cnf (the key that the client proved to hold; null for none), binds (whether the refresh tokens are bound to it from now on)
--
-- The refresh tokens of a client session form a tree: each names its parent, and a parent that was used again has several children. During the grace
-- period of a parent all its children are valid. The first use after that keeps only the child from which the used token comes (security R121):
-- client_sessions.line moves to that child, and a token of another line is treated as reused. This costs nothing if no token was used twice; otherwise it
-- reads the parents of the last seconds. Access tokens of an ended line stay valid until they expire.
CREATE FUNCTION {{use_refresh_token}}(presented_hash bytea, expected jsonb, issue jsonb) RETURNS token_answer LANGUAGE plpgsql AS $$
DECLARE
  requested_resource text := expected ->> 'resource';
  rotates boolean := (issue -> 'rotates')::boolean;
  refresh_seconds double precision := (issue -> 'refresh_seconds')::double precision;
  answer token_answer;
  token record;
  client_session record;
  facts record;
  granted text[];
  requested_scope text[];
  client_session_end timestamptz;
  is_usable boolean;
  grace_since timestamptz;
  ancestor bytea := presented_hash;
  parent_hash bytea;
  ancestor_spent_at timestamptz;
  in_grace boolean := true;
  new_line bytea;
  resource jsonb;
  token_audience text[];
BEGIN
  SELECT rt.client_session_id INTO token FROM refresh_tokens rt WHERE rt.token_hash = presented_hash;
  SELECT cs.* INTO client_session FROM client_sessions cs WHERE cs.id = token.client_session_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  answer.client_session_id := client_session.id;
  answer.client_id := client_session.client_id;
  answer.sub := client_session.sub;
  IF client_session.client_id IS DISTINCT FROM expected ->> 'client_id' THEN
    answer.failure := 'client';
    RETURN answer;
  END IF;
  IF client_session.cnf <> coalesce(issue -> 'cnf', '{}') THEN
    answer.failure := 'key';
    RETURN answer;
  END IF;
  SELECT f.session_end, f.registered, f.granted INTO facts
    FROM {{may_issue}}(client_session.sub, client_session.client_id, client_session.client_epoch, client_session.session_id, client_session.offline, true,
                       client_session.connection_id, expected ->> 'acts_at') AS f;
  IF NOT FOUND THEN
    answer.failure := 'ended';
    RETURN answer;
  END IF;
  -- only for tokens with a resource: the others need no more than this comparison
  IF client_session.resources IS NOT NULL OR requested_resource IS NOT NULL THEN
    resource := {{token_resource}}(client_session.resources, client_session.audience, client_session.client_id, client_session.sub, requested_resource);
  END IF;
  -- the granted scope, limited to what registration and grant still allow (security R12)
  granted := string_to_array(client_session.scope, ' ');
  IF (granted <@ facts.registered AND facts.granted -> 'scope' ?& granted) IS NOT TRUE THEN
    granted := ARRAY(SELECT value FROM unnest(granted) WITH ORDINALITY AS granted_value (value, ordinal)
                      WHERE (value = ANY (facts.registered) AND facts.granted -> 'scope' ? value) OR coalesce(resource -> 'scope' ? value, false)
                      ORDER BY ordinal);
  END IF;
  IF jsonb_typeof(expected -> 'scope') = 'array' THEN
    requested_scope := ARRAY(SELECT jsonb_array_elements_text(expected -> 'scope'));
    IF NOT requested_scope <@ granted THEN
      answer.failure := 'scope';
      RETURN answer;
    END IF;
    granted := requested_scope;
  END IF;
  IF (client_session.resources IS NOT NULL OR requested_resource IS NOT NULL) AND resource IS NULL THEN
    answer.failure := 'resource';
    RETURN answer;
  END IF;
  IF resource ->> 'binding' = 'any' AND issue -> 'cnf' IS NULL OR resource ->> 'binding' = 'dpop' AND (issue -> 'cnf' ? 'jkt') IS NOT TRUE
     OR resource ->> 'binding' = 'mtls' AND (issue -> 'cnf' ? 'x5t#S256') IS NOT TRUE THEN
    answer.failure := 'unbound';
    RETURN answer;
  END IF;
  -- only for authorizations with details, and requests that name some
  IF client_session.details IS NOT NULL OR expected -> 'details' IS NOT NULL THEN
    answer.details := {{token_details}}(client_session.details, client_session.client_id,
                                        coalesce(resource -> 'audience' ->> 0, client_session.audience[1]), expected -> 'details');
    IF answer.details IS NULL THEN
      answer.failure := 'details';
      RETURN answer;
    END IF;
    answer.details := nullif(answer.details, '[]');
  END IF;
  IF expected -> 'proof' IS NOT NULL AND NOT {{use_proof}}(expected -> 'proof') THEN
    answer.failure := 'proof';
    RETURN answer;
  END IF;
  IF (resource -> 'several')::boolean THEN
    token_audience := ARRAY(SELECT jsonb_array_elements_text(resource -> 'audience'));
  END IF;
  client_session_end := CASE
    WHEN client_session.offline THEN client_session.created_at + make_interval(secs => (issue -> 'client_session_seconds')::double precision)
    ELSE facts.session_end END;
  UPDATE refresh_tokens rt SET
         uses = rt.uses + CASE WHEN rotates OR rt.spent_at IS NOT NULL THEN 1 ELSE 0 END,
         spent_at = CASE WHEN rotates THEN coalesce(rt.spent_at, clock_timestamp()) ELSE rt.spent_at END,
         expires_at = CASE WHEN rotates OR rt.spent_at IS NOT NULL THEN rt.expires_at
                           ELSE least(now() + make_interval(secs => refresh_seconds), client_session_end) END
   WHERE rt.token_hash = presented_hash AND (rt.spent_at IS NOT NULL OR rt.expires_at > now())
  RETURNING rt.generation, rt.uses, rt.spent_at, rt.parent INTO token;
  is_usable := FOUND;
  IF NOT is_usable THEN
    SELECT rt.generation, rt.uses, rt.spent_at, rt.parent INTO token FROM refresh_tokens rt WHERE rt.token_hash = presented_hash;
  END IF;
  grace_since := clock_timestamp() - make_interval(secs => (expected -> 'grace_seconds')::double precision);
  -- Goes from this token up to client_sessions.line or, without one, to the end of the grace period. On the way it finds the new value of that column
  -- (security R121). A token that was stored without its parent keeps its own line at its first use.
  IF client_session.line IS NOT NULL OR token.uses > 1 OR (token.parent IS NULL AND token.generation > 1) THEN
    new_line := presented_hash;
    parent_hash := token.parent;
    WHILE ancestor IS DISTINCT FROM client_session.line AND parent_hash IS NOT NULL AND (in_grace OR client_session.line IS NOT NULL) LOOP
      ancestor := parent_hash;
      SELECT rt.parent, rt.spent_at INTO parent_hash, ancestor_spent_at FROM refresh_tokens rt WHERE rt.token_hash = ancestor;
      in_grace := in_grace AND ancestor_spent_at >= grace_since;
      IF in_grace THEN
        new_line := ancestor;
      END IF;
    END LOOP;
  END IF;
  IF ancestor <> client_session.line OR (token.uses > 1 AND token.spent_at < grace_since) THEN
    DELETE FROM client_sessions WHERE id = client_session.id;
    answer.failure := 'reused';
    RETURN answer;
  END IF;
  IF NOT is_usable THEN
    answer.failure := 'expired';
    RETURN answer;
  END IF;
  IF token.uses > (expected -> 'grace_uses')::integer + 1 THEN
    answer.failure := 'grace';
    RETURN answer;
  END IF;
  -- those of a public client (RFC 9449 5); a key that they have stays
  IF (issue -> 'binds')::boolean AND client_session.cnf IS NULL AND issue -> 'cnf' IS NOT NULL THEN
    UPDATE client_sessions SET cnf = issue -> 'cnf' WHERE id = client_session.id;
  END IF;
  IF new_line IS NOT NULL AND new_line IS DISTINCT FROM client_session.line THEN
    UPDATE client_sessions SET line = new_line WHERE id = client_session.id;
  END IF;
  answer.sid := client_session.sid;
  answer.subject := coalesce(client_session.subject, client_session.sub);
  answer.scope := array_to_string(granted, ' ');
  answer.auth_time := client_session.auth_time;
  answer.amr := client_session.amr;
  answer.nonce := client_session.nonce;
  answer.requested := client_session.requested;
  answer.issued_at := now();
  answer.rotated := token.uses >= 1;
  answer.jwt := nullif(resource -> 'jwt', 'null');
  answer.access_seconds := least((issue -> 'access_seconds')::double precision, (resource ->> 'seconds')::double precision);
  INSERT INTO access_tokens (token_hash, client_session_id, scope, audience, details, cnf, expires_at)
    VALUES (decode(issue ->> 'access_token', 'hex'), client_session.id, answer.scope, token_audience, answer.details, issue -> 'cnf',
            now() + make_interval(secs => answer.access_seconds));
  IF answer.rotated THEN
    INSERT INTO refresh_tokens (token_hash, client_session_id, generation, expires_at, parent)
      VALUES (decode(issue ->> 'refresh_token', 'hex'), client_session.id, token.generation + 1,
              least(now() + make_interval(secs => refresh_seconds), client_session_end), presented_hash);
  END IF;
  RETURN answer;
END $$;
