-- Issues an authorization response (security R4, R19, R30, R42). It locks the stored request first, so that only one of two answers to it counts. Then
-- it locks the session's row, as the end of the session does: responses of one session are issued one after another, and each counts the earlier ones.
-- It also locks the grant: a withdrawal either waits and ends what is issued here, or was earlier. `refusal` is NULL if the response was issued. A test
-- compares it with decideResponse() in src/oauth/authorization-response.ts.
--   expected: request (hash in hex; null for a request that was not stored), session, client_id, client_version,
--     granted (what the grant must have, in its form), max_per_minute, acts_at (as for may_issue()),
--     shown (authorization details that the user has just allowed on another page; null without one)
--   issue: code, access_token (hashes in hex, each may be null), scope, subject, offline, nonce, audience, resources, details, requested, redirect_uri, code_challenge, max_codes,
--     code_seconds, access_seconds, client_session_seconds, code_cnf (the key by which the code must be redeemed)
CREATE FUNCTION {{issue_code}}(expected jsonb, issue jsonb, OUT refusal text, OUT issued_at timestamptz, OUT client_session bigint) LANGUAGE plpgsql AS $$
DECLARE
  request_hash bytea := decode(expected ->> 'request', 'hex');
  issuing_session bigint := (expected ->> 'session')::bigint;
  issuing_client text := expected ->> 'client_id';
  max_per_minute integer := (expected -> 'max_per_minute')::integer;
  new_code bytea := decode(issue ->> 'code', 'hex');
  max_codes integer := (issue -> 'max_codes')::integer;
  request record;
  shown jsonb;
  issuing record;
  facts record;
  token_audience text[];
  listed_codes bytea[];
BEGIN
  IF request_hash IS NOT NULL THEN
    SELECT r.details, r.decided_sub, r.decision INTO request FROM authorization_requests r WHERE r.id_hash = request_hash FOR UPDATE;
    IF NOT FOUND THEN
      refusal := 'answered';
      RETURN;
    END IF;
  END IF;
  SELECT s.sid, s.sub, s.auth_time, s.amr, s.codes_at, s.connection_id INTO issuing
    FROM sessions s JOIN grants g ON g.sub = s.sub AND g.client_id = issuing_client
   WHERE s.id = issuing_session FOR NO KEY UPDATE OF s FOR KEY SHARE OF g;
  IF NOT FOUND THEN
    refusal := 'ended';
    RETURN;
  END IF;
  -- once the rows are locked, so that it sees the changes for which the locks waited
  SELECT f.epoch, f.granted INTO facts
    FROM {{may_issue}}(issuing.sub, issuing_client, NULL, issuing_session, false, true, issuing.connection_id,
                       expected ->> 'acts_at') AS f
   WHERE f.version = (expected -> 'client_version')::integer AND f.granted @> (expected -> 'granted');
  IF NOT FOUND THEN
    refusal := 'ended';
    RETURN;
  END IF;
  -- only for authorizations with details: each was shown to this user as a whole (security R142)
  IF issue -> 'details' IS NOT NULL THEN
    shown := coalesce(facts.granted -> 'details', '[]') || coalesce(expected -> 'shown', '[]');
    IF request_hash IS NOT NULL THEN
      shown := shown || CASE WHEN request.decision = 'allowed' AND request.decided_sub = issuing.sub THEN coalesce(request.details, '[]') ELSE '[]' END;
    END IF;
    IF EXISTS (SELECT FROM jsonb_array_elements(issue -> 'details') AS each (one)
                WHERE NOT EXISTS (SELECT FROM jsonb_array_elements(shown) AS allowed (one) WHERE allowed.one = each.one - 'id')) THEN
      refusal := 'ended';
      RETURN;
    END IF;
  END IF;
  IF max_per_minute > 0 THEN
    IF issuing.codes_at[cardinality(issuing.codes_at) - max_per_minute + 1] > clock_timestamp() - interval '1 minute' THEN
      refusal := 'limit';
      RETURN;
    END IF;
    UPDATE sessions SET codes_at = issuing.codes_at[cardinality(issuing.codes_at) - max_per_minute + 2 :] || clock_timestamp()
     WHERE id = issuing_session;
  END IF;
  IF issue -> 'audience' IS NOT NULL THEN
    token_audience := ARRAY(SELECT jsonb_array_elements_text(issue -> 'audience'));
  END IF;
  INSERT INTO client_sessions
    (session_id, sid, sub, client_id, client_epoch, scope, offline, auth_time, amr, nonce, audience, resources, details, requested, subject, connection_id,
     expires_at)
    VALUES (issuing_session, issuing.sid, issuing.sub, issuing_client, facts.epoch, issue ->> 'scope', (issue -> 'offline')::boolean,
            issuing.auth_time, issuing.amr, issue ->> 'nonce',
            token_audience, issue -> 'resources', issue -> 'details', issue -> 'requested', issue ->> 'subject', issuing.connection_id,
            now() + make_interval(secs => (issue -> 'client_session_seconds')::double precision))
    RETURNING id INTO client_session;
  INSERT INTO session_clients AS sc (session_id, client_id, subject, codes)
    VALUES (issuing_session, issuing_client, issue ->> 'subject', array_remove(ARRAY[new_code], NULL))
    ON CONFLICT (session_id, client_id) DO UPDATE SET subject = excluded.subject, codes = sc.codes || excluded.codes
    RETURNING codes INTO listed_codes;
  IF new_code IS NOT NULL THEN
    INSERT INTO authorization_codes (code_hash, client_session_id, redirect_uri, code_challenge, cnf, expires_at)
      VALUES (new_code, client_session, issue ->> 'redirect_uri', issue ->> 'code_challenge', issue -> 'code_cnf',
              now() + make_interval(secs => (issue -> 'code_seconds')::double precision));
    IF cardinality(listed_codes) > max_codes THEN
      PERFORM {{keep_newest_codes}}(issuing_session, issuing_client, listed_codes, max_codes);
    END IF;
  END IF;
  IF issue ->> 'access_token' IS NOT NULL THEN
    INSERT INTO access_tokens (token_hash, client_session_id, expires_at)
      VALUES (decode(issue ->> 'access_token', 'hex'), client_session,
              now() + make_interval(secs => (issue -> 'access_seconds')::double precision));
  END IF;
  IF request_hash IS NOT NULL THEN
    DELETE FROM authorization_requests WHERE id_hash = request_hash;
  END IF;
  issued_at := now();
END $$;
