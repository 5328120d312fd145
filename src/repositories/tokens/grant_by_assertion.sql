-- Issues an access token for the user of an assertion of a trusted issuer (RFC 7523, security R133, R146). It locks the issuer and the user, as their changes do:
-- what was disabled issues nothing. Then it uses the assertion, once for all instances. The token has a client session of its own, which has the issuer
-- in place of a connection, and ends with it. `failure` is NULL if a token was issued.
--   expected: issuer (its id), issuer_version, jti (a hash in hex), assertion_seconds (for which it is remembered), sub, client_id, resource (its id; null for a
--     resource of this service), acts_at (as for may_issue()), proof (as for use_proof(); null without one)
--   issue: access_token (hash in hex), access_seconds, scope, audience, subject, sid, cnf
CREATE FUNCTION {{grant_by_assertion}}(expected jsonb, issue jsonb) RETURNS token_answer LANGUAGE plpgsql AS $$
DECLARE
  came_by text := 'issuer:' || (expected ->> 'issuer');
  answer token_answer;
  granting record;
  token_end timestamptz := now() + make_interval(secs => (issue -> 'access_seconds')::double precision);
BEGIN
  answer.client_id := expected ->> 'client_id';
  answer.sub := expected ->> 'sub';
  PERFORM FROM trusted_issuers i WHERE i.id = expected ->> 'issuer' AND i.version = (expected -> 'issuer_version')::integer AND i.status = 'enabled' FOR SHARE;
  IF NOT FOUND THEN
    answer.failure := 'issuer';
    RETURN answer;
  END IF;
  PERFORM FROM users u WHERE u.sub = answer.sub AND u.status = 'enabled' FOR SHARE;
  IF NOT FOUND THEN
    answer.failure := 'user';
    RETURN answer;
  END IF;
  -- the issuer stands in place of consent and session; failed sign-ins pause the user, since no known browser acts
  SELECT f.epoch INTO granting FROM {{may_issue}}(NULL, answer.client_id, NULL, NULL, NULL, NULL, NULL, expected ->> 'acts_at') AS f
    JOIN clients c ON c.client_id = answer.client_id
    JOIN users u ON u.sub = answer.sub AND u.status = 'enabled' AND has_access(u.groups, c.access, c.access_groups) AND comes_by(c.connections, came_by)
   WHERE NOT EXISTS (SELECT FROM sign_in_failures s WHERE s.sub = answer.sub AND s.held_until > now());
  answer.failure := CASE
    WHEN NOT FOUND THEN 'ended'
    WHEN expected ->> 'resource' IS NOT NULL AND NOT EXISTS (
      SELECT FROM resources r LEFT JOIN clients server ON server.client_id = r.client_id
       WHERE r.id = expected ->> 'resource' AND (r.client_id IS NULL OR server.status = 'enabled')) THEN 'resource'
    WHEN expected -> 'proof' IS NOT NULL AND NOT {{use_proof}}(expected -> 'proof') THEN 'proof' END;
  IF answer.failure IS NOT NULL THEN
    RETURN answer;
  END IF;
  INSERT INTO used_grant_assertions (issuer_id, jti_hash, expires_at)
    VALUES (expected ->> 'issuer', decode(expected ->> 'jti', 'hex'), now() + make_interval(secs => (expected -> 'assertion_seconds')::double precision))
    ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    answer.failure := 'replayed';
    RETURN answer;
  END IF;
  INSERT INTO client_sessions (session_id, client_id, client_epoch, sub, sid, scope, amr, auth_time, subject, offline, connection_id, audience, expires_at)
    VALUES (NULL, answer.client_id, granting.epoch, answer.sub, issue ->> 'sid', issue ->> 'scope', '{}', to_timestamp(0), issue ->> 'subject', true, came_by,
            ARRAY(SELECT jsonb_array_elements_text(issue -> 'audience')), token_end)
    RETURNING id INTO answer.client_session_id;
  INSERT INTO access_tokens (token_hash, client_session_id, cnf, expires_at)
    VALUES (decode(issue ->> 'access_token', 'hex'), answer.client_session_id, issue -> 'cnf', token_end);
  answer.sid := issue ->> 'sid';
  answer.subject := coalesce(issue ->> 'subject', answer.sub);
  answer.scope := issue ->> 'scope';
  answer.auth_time := to_timestamp(0);
  answer.amr := '{}';
  answer.issued_at := now();
  answer.access_seconds := (issue -> 'access_seconds')::double precision;
  RETURN answer;
END $$;
