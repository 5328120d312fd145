-- Uses a refresh token (security R12, R31, R32, R33, R34, R35, R36). It locks the client session first, then stores and counts the use. The count
-- decides the result: a successor, a refusal, or the end of the client session. `failure` is NULL if tokens were issued; the result is NULL for an unknown
-- token. A test compares it with decideRefresh() in src/oauth/refresh-rotation.ts.
--   expected: client_id, scope (a narrower one; null for the whole), resource, grace_seconds, grace_uses
--   issue: rotates, access_token, refresh_token (hashes in hex), access_seconds, refresh_seconds, family_seconds
--
-- The refresh tokens of a client session form a tree: each names its parent, and a parent that was used again has several children. During the grace
-- period of a parent all its children are valid. The first use after that keeps the child whose line was used (security R121): client_sessions.line moves
-- to that child, and a token of another line is treated as reused. This costs nothing if no token was used twice; otherwise it reads the parents of the
-- last seconds. Access tokens of an ended line stay valid until they expire.
CREATE FUNCTION {{use_refresh_token}}(presented bytea, expected jsonb, issue jsonb) RETURNS token_answer LANGUAGE plpgsql AS $$
DECLARE
  for_resource text := expected ->> 'resource';
  rotates boolean := (issue -> 'rotates')::boolean;
  refresh_seconds double precision := (issue -> 'refresh_seconds')::double precision;
  answer token_answer;
  spent record;
  family record;
  good record;
  granted text[];
  asked text[];
  family_until timestamptz;
  in_force boolean;
  grace_since timestamptz;
  reached bytea := presented;
  above bytea;
  first_used timestamptz;
  in_grace boolean := true;
  kept bytea;
BEGIN
  SELECT rt.client_session_id INTO spent FROM refresh_tokens rt WHERE rt.token_hash = presented;
  SELECT cs.* INTO family FROM client_sessions cs WHERE cs.id = spent.client_session_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  answer.client_session_id := family.id;
  answer.client_id := family.client_id;
  answer.sub := family.sub;
  IF family.client_id IS DISTINCT FROM expected ->> 'client_id' THEN
    answer.failure := 'client';
    RETURN answer;
  END IF;
  SELECT s.expires_at, string_to_array(c.metadata ->> 'scope', ' ') AS registered, g.scope AS consented INTO good
    FROM users u
    JOIN clients c ON c.client_id = family.client_id AND c.status = 'enabled' AND c.epoch = family.client_epoch
    JOIN grants g ON g.sub = u.sub AND g.client_id = c.client_id
    LEFT JOIN sessions s ON s.id = family.session_id AND s.idle_expires_at > now()
   WHERE u.sub = family.sub AND u.status = 'enabled' AND (family.offline OR s.id IS NOT NULL);
  IF NOT FOUND THEN
    answer.failure := 'ended';
    RETURN answer;
  END IF;
  -- the granted scope, limited to what registration and grant still allow (security R12)
  granted := string_to_array(family.scope, ' ');
  IF (granted <@ good.registered AND granted <@ good.consented) IS NOT TRUE THEN
    granted := ARRAY(SELECT value FROM unnest(granted) WITH ORDINALITY AS each (value, place)
                      WHERE value = ANY (good.registered) AND value = ANY (good.consented) ORDER BY place);
  END IF;
  IF jsonb_typeof(expected -> 'scope') = 'array' THEN
    asked := ARRAY(SELECT jsonb_array_elements_text(expected -> 'scope'));
    IF NOT asked <@ granted THEN
      answer.failure := 'scope';
      RETURN answer;
    END IF;
    granted := asked;
  END IF;
  IF for_resource IS NOT NULL AND NOT coalesce(for_resource = ANY (family.audience), false) THEN
    answer.failure := 'resource';
    RETURN answer;
  END IF;
  family_until := CASE WHEN family.offline THEN family.created_at + make_interval(secs => (issue -> 'family_seconds')::double precision) ELSE good.expires_at END;
  UPDATE refresh_tokens rt SET
         uses = rt.uses + CASE WHEN rotates OR rt.spent_at IS NOT NULL THEN 1 ELSE 0 END,
         spent_at = CASE WHEN rotates THEN coalesce(rt.spent_at, clock_timestamp()) ELSE rt.spent_at END,
         expires_at = CASE WHEN rotates OR rt.spent_at IS NOT NULL THEN rt.expires_at
                           ELSE least(now() + make_interval(secs => refresh_seconds), family_until) END
   WHERE rt.token_hash = presented AND (rt.spent_at IS NOT NULL OR rt.expires_at > now())
  RETURNING rt.generation, rt.uses, rt.spent_at, rt.parent INTO spent;
  in_force := FOUND;
  IF NOT in_force THEN
    SELECT rt.generation, rt.uses, rt.spent_at, rt.parent INTO spent FROM refresh_tokens rt WHERE rt.token_hash = presented;
  END IF;
  grace_since := clock_timestamp() - make_interval(secs => (expected -> 'grace_seconds')::double precision);
  -- Goes from this token up to client_sessions.line or, without one, to the end of the grace period. On the way it finds the new value of that column
  -- (security R121). A token that was stored without its parent keeps its own line at its first use.
  IF family.line IS NOT NULL OR spent.uses > 1 OR (spent.parent IS NULL AND spent.generation > 1) THEN
    kept := presented;
    above := spent.parent;
    WHILE reached IS DISTINCT FROM family.line AND above IS NOT NULL AND (in_grace OR family.line IS NOT NULL) LOOP
      reached := above;
      SELECT rt.parent, rt.spent_at INTO above, first_used FROM refresh_tokens rt WHERE rt.token_hash = reached;
      in_grace := in_grace AND first_used >= grace_since;
      IF in_grace THEN
        kept := reached;
      END IF;
    END LOOP;
  END IF;
  IF reached <> family.line OR (spent.uses > 1 AND spent.spent_at < grace_since) THEN
    DELETE FROM client_sessions WHERE id = family.id;
    answer.failure := 'reused';
    RETURN answer;
  END IF;
  IF NOT in_force THEN
    answer.failure := 'expired';
    RETURN answer;
  END IF;
  IF spent.uses > (expected -> 'grace_uses')::integer + 1 THEN
    answer.failure := 'grace';
    RETURN answer;
  END IF;
  IF kept IS NOT NULL AND kept IS DISTINCT FROM family.line THEN
    UPDATE client_sessions SET line = kept WHERE id = family.id;
  END IF;
  answer.sid := family.sid;
  answer.subject := coalesce(family.subject, family.sub);
  answer.scope := array_to_string(granted, ' ');
  answer.auth_time := family.auth_time;
  answer.amr := family.amr;
  answer.nonce := family.nonce;
  answer.requested := family.requested;
  answer.issued_at := now();
  answer.rotated := spent.uses >= 1;
  INSERT INTO access_tokens (token_hash, client_session_id, scope, expires_at)
    VALUES (decode(issue ->> 'access_token', 'hex'), family.id, answer.scope,
            now() + make_interval(secs => (issue -> 'access_seconds')::double precision));
  IF answer.rotated THEN
    INSERT INTO refresh_tokens (token_hash, client_session_id, generation, expires_at, parent)
      VALUES (decode(issue ->> 'refresh_token', 'hex'), family.id, spent.generation + 1,
              least(now() + make_interval(secs => refresh_seconds), family_until), presented);
  END IF;
  RETURN answer;
END $$;
