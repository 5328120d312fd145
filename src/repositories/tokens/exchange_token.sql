-- Exchanges a token of a user for an access token of another client (RFC 8693, security R133, R145). It locks the policy, as its change does, and then the
-- client session, as its end does: what has ended issues nothing. The new token belongs to the same client session, ends with it, and is never valid
-- longer than the presented token. `failure` is NULL if a token was issued; the result is NULL if the presented token is not valid.
--   expected: subject_token (hash in hex), or of an ID Token client_session (its id), sid, subject_client, subject_of_client, and subject_seconds (for which it is still valid);
--     actor_token (hash in hex; null where the client itself acts), client_id, policy, policy_version, resource (its id; null for a resource of this service),
--     details (to which the token is limited; null for all that there are), acts_at (as for may_issue()),
--     proof (as for use_proof(); null without one)
--   issue: access_token (hash in hex), access_seconds, scope, audience, cnf, exchange
CREATE FUNCTION {{exchange_token}}(expected jsonb, issue jsonb) RETURNS token_answer LANGUAGE plpgsql AS $$
DECLARE
  presented_hash bytea := decode(expected ->> 'subject_token', 'hex');
  answer token_answer;
  policy_holds boolean;
  policy_details text[];
  presented_session bigint;
  client_session client_sessions;
  token access_tokens;
  actor access_tokens;
  actor_session client_sessions;
  actor_holds boolean := true;
  caller record;
  token_end timestamptz;
BEGIN
  SELECT p.authorization_details_types INTO policy_details FROM exchange_policies p
   WHERE p.id = expected ->> 'policy' AND p.version = (expected -> 'policy_version')::integer AND p.status = 'enabled' FOR SHARE;
  policy_holds := FOUND;
  IF presented_hash IS NOT NULL THEN
    SELECT t.client_session_id INTO presented_session FROM access_tokens t WHERE t.token_hash = presented_hash;
  ELSE
    -- the one that issued the token: a later authorization of the same client adds nothing to it
    SELECT cs.id INTO presented_session FROM client_sessions cs JOIN sessions s ON s.id = cs.session_id
     WHERE cs.id = (expected ->> 'client_session')::bigint AND s.sid = expected ->> 'sid'
       AND cs.client_id = expected ->> 'subject_client' AND coalesce(cs.subject, cs.sub) = expected ->> 'subject_of_client';
  END IF;
  SELECT * INTO client_session FROM client_sessions cs WHERE cs.id = presented_session FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  token_end := least(now() + make_interval(secs => (expected -> 'subject_seconds')::double precision), client_session.expires_at);
  IF presented_hash IS NOT NULL THEN
    -- what was revoked meanwhile is gone now
    SELECT * INTO token FROM access_tokens t WHERE t.token_hash = presented_hash;
    token_end := token.expires_at;
  END IF;
  IF expected ->> 'actor_token' IS NOT NULL THEN
    SELECT t.* INTO actor FROM access_tokens t WHERE t.token_hash = decode(expected ->> 'actor_token', 'hex') AND t.expires_at > now() FOR KEY SHARE;
    actor_holds := FOUND;
    IF actor.client_session_id IS NOT NULL THEN
      SELECT * INTO actor_session FROM client_sessions cs WHERE cs.id = actor.client_session_id FOR KEY SHARE;
      actor_holds := FOUND AND EXISTS (SELECT FROM {{may_issue}}(
        actor_session.sub, actor_session.client_id, actor_session.client_epoch, actor_session.session_id, actor_session.offline, true,
        actor_session.connection_id, NULL));
    END IF;
    token_end := least(token_end, actor.expires_at);
  END IF;
  answer.access_seconds := floor(extract(epoch FROM least(now() + make_interval(secs => (issue -> 'access_seconds')::double precision), token_end) - now()));
  IF (answer.access_seconds >= 1) IS NOT TRUE OR token_end IS NULL THEN
    RETURN NULL;
  END IF;
  answer.client_session_id := client_session.id;
  answer.client_id := client_session.client_id;
  answer.sub := client_session.sub;
  -- the authorization of the user, and the client of a presented token that is itself of an exchange
  IF NOT EXISTS (SELECT FROM {{may_issue}}(client_session.sub, client_session.client_id, client_session.client_epoch, client_session.session_id,
                                         client_session.offline, true, client_session.connection_id, NULL))
     OR token.client_id IS NOT NULL AND NOT EXISTS (SELECT FROM {{may_issue}}(NULL, token.client_id, token.client_epoch, NULL, NULL, NULL, NULL, NULL)) THEN
    answer.failure := 'ended';
    RETURN answer;
  END IF;
  -- the client that presents it, which the user may use, too: the policy stands in place of a consent
  SELECT f.epoch INTO caller FROM {{may_issue}}(NULL, expected ->> 'client_id', NULL, NULL, NULL, NULL, NULL, expected ->> 'acts_at') AS f
    JOIN clients c ON c.client_id = expected ->> 'client_id'
    JOIN users u ON u.sub = client_session.sub AND has_access(u.groups, c.access, c.access_groups) AND comes_by(c.connections, client_session.connection_id);
  answer.failure := CASE
    WHEN NOT FOUND THEN 'client'
    WHEN NOT policy_holds THEN 'policy'
    WHEN NOT actor_holds THEN 'actor'
    WHEN expected ->> 'resource' IS NOT NULL AND NOT EXISTS (
      SELECT FROM resources r LEFT JOIN clients server ON server.client_id = r.client_id
       WHERE r.id = expected ->> 'resource' AND (r.client_id IS NULL OR server.status = 'enabled')) THEN 'resource'
    WHEN expected -> 'proof' IS NOT NULL AND NOT {{use_proof}}(expected -> 'proof') THEN 'proof' END;
  IF answer.failure IS NOT NULL THEN
    RETURN answer;
  END IF;
  -- only for tokens with details, and requests that name some: those of the presented token that the policy lets through
  IF token.details IS NOT NULL OR expected -> 'details' IS NOT NULL THEN
    answer.details := {{token_details}}(
      (SELECT jsonb_agg(each.one ORDER BY each.place) FROM jsonb_array_elements(token.details) WITH ORDINALITY AS each (one, place)
        WHERE each.one ->> 'type' = ANY (policy_details)),
      expected ->> 'client_id', issue -> 'audience' ->> 0, expected -> 'details');
    IF answer.details IS NULL THEN
      answer.failure := 'details';
      RETURN answer;
    END IF;
    answer.details := nullif(answer.details, '[]');
  END IF;
  INSERT INTO access_tokens (token_hash, client_session_id, client_id, client_epoch, scope, audience, details, cnf, exchange, expires_at)
    VALUES (decode(issue ->> 'access_token', 'hex'), client_session.id, expected ->> 'client_id', caller.epoch, issue ->> 'scope',
            ARRAY(SELECT jsonb_array_elements_text(issue -> 'audience')), answer.details, issue -> 'cnf', issue -> 'exchange',
            now() + make_interval(secs => answer.access_seconds));
  answer.sid := client_session.sid;
  answer.subject := coalesce(issue -> 'exchange' ->> 'subject', client_session.sub);
  answer.scope := issue ->> 'scope';
  answer.auth_time := client_session.auth_time;
  answer.amr := client_session.amr;
  answer.issued_at := now();
  RETURN answer;
END $$;
