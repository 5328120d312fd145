-- Decides whether an ID-JAG may be signed for a user (draft-ietf-oauth-identity-assertion-authz-grant, security R133). It locks the connected server and the client session,
-- as their ends do. An ID-JAG is stored nowhere. `failure` is NULL if it may be signed; the result is NULL if the presented token is not valid.
--   expected: refresh_token (hash in hex), or of an ID Token client_session (its id), sid and subject; client_id, server (its id), server_version, acts_at (as for may_issue()),
--     cnf (the key that the client proved to hold; null for none), proof (as for use_proof(); null without one)
CREATE FUNCTION {{allow_id_jag}}(expected jsonb) RETURNS token_answer LANGUAGE plpgsql AS $$
DECLARE
  presented_hash bytea := decode(expected ->> 'refresh_token', 'hex');
  answer token_answer;
  server_holds boolean;
  presented_session bigint;
  client_session client_sessions;
BEGIN
  PERFORM FROM connected_servers s WHERE s.id = expected ->> 'server' AND s.version = (expected -> 'server_version')::integer AND s.status = 'enabled' FOR SHARE;
  server_holds := FOUND;
  IF presented_hash IS NOT NULL THEN
    SELECT rt.client_session_id INTO presented_session FROM refresh_tokens rt WHERE rt.token_hash = presented_hash;
  ELSE
    -- the one that issued the token: a later sign-in for the same client adds nothing to it
    SELECT cs.id INTO presented_session FROM client_sessions cs JOIN sessions s ON s.id = cs.session_id
     WHERE cs.id = (expected ->> 'client_session')::bigint AND s.sid = expected ->> 'sid'
       AND cs.client_id = expected ->> 'client_id' AND coalesce(cs.subject, cs.sub) = expected ->> 'subject';
  END IF;
  SELECT * INTO client_session FROM client_sessions cs WHERE cs.id = presented_session AND cs.client_id = expected ->> 'client_id' FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  -- one that was spent, replaced or revoked is no longer the client's
  IF presented_hash IS NOT NULL AND NOT EXISTS (
       SELECT FROM refresh_tokens rt WHERE rt.token_hash = presented_hash AND rt.spent_at IS NULL AND rt.expires_at > now()) THEN
    RETURN NULL;
  END IF;
  answer.client_session_id := client_session.id;
  answer.client_id := client_session.client_id;
  answer.sub := client_session.sub;
  answer.failure := CASE
    WHEN NOT EXISTS (SELECT FROM {{may_issue}}(client_session.sub, client_session.client_id, client_session.client_epoch, client_session.session_id,
                                             client_session.offline, true, client_session.connection_id, expected ->> 'acts_at')) THEN 'ended'
    WHEN presented_hash IS NOT NULL AND client_session.cnf <> coalesce(expected -> 'cnf', '{}') THEN 'key'
    WHEN NOT server_holds THEN 'server'
    WHEN expected -> 'proof' IS NOT NULL AND NOT {{use_proof}}(expected -> 'proof') THEN 'proof' END;
  answer.sid := client_session.sid;
  answer.subject := coalesce(client_session.subject, client_session.sub);
  answer.scope := client_session.scope;
  answer.auth_time := client_session.auth_time;
  answer.amr := client_session.amr;
  answer.requested := client_session.requested;
  answer.issued_at := now();
  RETURN answer;
END $$;
