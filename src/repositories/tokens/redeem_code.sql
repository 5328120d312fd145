-- Redeems a code exactly once (security R14, R15, R16, R17, R22, R35). It locks the client session first, as refresh, revocation and logout do. Then an
-- update claims the code and sees the effects of earlier redemptions. `failure` is NULL if tokens were issued; the result is NULL for an unknown code. A
-- test compares it with decideRedemption() in src/oauth/code-redemption.ts.
--   expected: client_id, redirect_uri, code_challenge (computed from the verifier), resource, details (to which the tokens are limited; null for all), retry_seconds, proof (as for use_proof(); null without one),
--     acts_at (as for may_issue()), in_known_browser (as for may_issue(); true without it)
--   issue: access_token, refresh_token, handle (hashes in hex), access_seconds, refresh_seconds, client_session_seconds,
--     cnf, refresh_cnf, handle_cnf (the keys to which these tokens are bound; null for none)
CREATE FUNCTION {{redeem_code}}(presented_hash bytea, expected jsonb, issue jsonb) RETURNS token_answer LANGUAGE plpgsql AS $$
DECLARE
  presenting_client text := expected ->> 'client_id';
  verified_challenge text := expected ->> 'code_challenge';
  requested_resource text := expected ->> 'resource';
  answer token_answer;
  code record;
  client_session record;
  redemption_count integer;
  first_redeemed_at timestamptz;
  failure_count smallint;
  client_session_end timestamptz;
  tokens_end timestamptz;
  resource jsonb;
  token_audience text[];
  token_scope text;
  token_details jsonb;
BEGIN
  SELECT ac.client_session_id, ac.expires_at, ac.redirect_uri, ac.code_challenge, ac.cnf INTO code FROM authorization_codes ac
   WHERE ac.code_hash = presented_hash;
  SELECT cs.* INTO client_session FROM client_sessions cs WHERE cs.id = code.client_session_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  answer.client_session_id := client_session.id;
  answer.client_id := client_session.client_id;
  answer.sub := client_session.sub;
  SELECT f.session_end INTO client_session_end
    FROM {{may_issue}}(client_session.sub, client_session.client_id, client_session.client_epoch, client_session.session_id, false,
                       coalesce((expected -> 'in_known_browser')::boolean, true), client_session.connection_id, expected ->> 'acts_at') AS f;
  answer.failure := CASE
    WHEN NOT FOUND THEN 'ended'
    WHEN code.expires_at <= now() THEN 'expired'
    WHEN client_session.client_id <> presenting_client THEN 'client'
    WHEN code.redirect_uri IS DISTINCT FROM expected ->> 'redirect_uri' THEN 'redirect_uri'
    WHEN code.code_challenge IS NOT NULL AND verified_challenge IS NULL THEN 'pkce_missing'
    WHEN code.code_challenge IS NULL AND verified_challenge IS NOT NULL THEN 'pkce_unexpected'
    WHEN code.code_challenge <> verified_challenge THEN 'pkce'
    WHEN code.cnf <> coalesce(issue -> 'cnf', '{}') THEN 'key'
    ELSE NULL END;
  -- only for tokens with a resource: the others need no more than this comparison
  IF answer.failure IS NULL AND (client_session.resources IS NOT NULL OR requested_resource IS NOT NULL) THEN
    resource := {{token_resource}}(client_session.resources, client_session.audience, client_session.client_id, client_session.sub, requested_resource);
    IF resource IS NULL THEN
      answer.failure := 'resource';
    ELSIF resource ->> 'binding' = 'any' AND issue -> 'cnf' IS NULL OR resource ->> 'binding' = 'dpop' AND (issue -> 'cnf' ? 'jkt') IS NOT TRUE
       OR resource ->> 'binding' = 'mtls' AND (issue -> 'cnf' ? 'x5t#S256') IS NOT TRUE THEN
      answer.failure := 'unbound';
    END IF;
  END IF;
  -- only for authorizations with details, and requests that name some
  IF answer.failure IS NULL AND (client_session.details IS NOT NULL OR expected -> 'details' IS NOT NULL) THEN
    token_details := {{token_details}}(client_session.details, client_session.client_id,
                                       coalesce(resource -> 'audience' ->> 0, client_session.audience[1]), expected -> 'details');
    IF token_details IS NULL THEN
      answer.failure := 'details';
    END IF;
    token_details := nullif(token_details, '[]');
  END IF;
  IF answer.failure IS NULL AND expected -> 'proof' IS NOT NULL AND NOT {{use_proof}}(expected -> 'proof') THEN
    answer.failure := 'proof';
  END IF;
  UPDATE authorization_codes ac SET
         redemptions = ac.redemptions + CASE WHEN ac.redeemed_at IS NOT NULL OR answer.failure IS NULL THEN 1 ELSE 0 END,
         redeemed_at = CASE WHEN ac.redeemed_at IS NULL AND answer.failure IS NULL THEN clock_timestamp() ELSE ac.redeemed_at END,
         failures = ac.failures + CASE WHEN ac.redeemed_at IS NULL
                      AND answer.failure IN ('client', 'redirect_uri', 'pkce_missing', 'pkce_unexpected', 'pkce', 'key') THEN 1 ELSE 0 END
   WHERE ac.code_hash = presented_hash
  RETURNING ac.redemptions, ac.redeemed_at, ac.failures INTO redemption_count, first_redeemed_at, failure_count;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  answer.burned := failure_count >= 5;
  IF redemption_count = 1 AND answer.failure IS NULL THEN
    answer.sid := client_session.sid;
    answer.subject := coalesce(client_session.subject, client_session.sub);
    answer.scope := client_session.scope;
    IF resource IS NOT NULL THEN
      IF resource -> 'dropped' <> '[]' THEN
        answer.scope := array_to_string(ARRAY(
          SELECT value FROM unnest(string_to_array(client_session.scope, ' ')) WITH ORDINALITY AS granted (value, place)
           WHERE NOT resource -> 'dropped' ? value ORDER BY place), ' ');
        token_scope := answer.scope;
      END IF;
      IF (resource -> 'several')::boolean THEN
        token_audience := ARRAY(SELECT jsonb_array_elements_text(resource -> 'audience'));
      END IF;
      answer.jwt := nullif(resource -> 'jwt', 'null');
      answer.access_seconds := least((issue -> 'access_seconds')::double precision, (resource ->> 'seconds')::double precision);
    END IF;
    answer.auth_time := client_session.auth_time;
    answer.amr := client_session.amr;
    answer.nonce := client_session.nonce;
    answer.requested := client_session.requested;
    answer.details := token_details;
    answer.issued_at := now();
    tokens_end := now() + make_interval(secs => coalesce(answer.access_seconds, (issue -> 'access_seconds')::double precision));
    INSERT INTO access_tokens (token_hash, client_session_id, scope, audience, details, cnf, expires_at)
      VALUES (decode(issue ->> 'access_token', 'hex'), client_session.id, token_scope, token_audience, token_details, issue -> 'cnf', tokens_end);
    IF issue ->> 'handle' IS NOT NULL THEN
      tokens_end := greatest(tokens_end, client_session_end);
      INSERT INTO client_session_handles (handle_hash, client_session_id, cnf)
        VALUES (decode(issue ->> 'handle', 'hex'), client_session.id, issue -> 'handle_cnf');
    END IF;
    IF issue ->> 'refresh_token' IS NOT NULL THEN
      IF client_session.offline THEN
        client_session_end := client_session.created_at + make_interval(secs => (issue -> 'client_session_seconds')::double precision);
      END IF;
      tokens_end := greatest(tokens_end, client_session_end);
      INSERT INTO refresh_tokens (token_hash, client_session_id, generation, expires_at)
        VALUES (decode(issue ->> 'refresh_token', 'hex'), client_session.id, 1,
                least(now() + make_interval(secs => (issue -> 'refresh_seconds')::double precision), client_session_end));
    END IF;
    IF tokens_end > client_session.expires_at OR issue -> 'refresh_cnf' IS NOT NULL THEN
      UPDATE client_sessions SET expires_at = greatest(expires_at, tokens_end), cnf = issue -> 'refresh_cnf' WHERE id = client_session.id;
    END IF;
    RETURN answer;
  END IF;
  -- another client sent a redeemed code, or its own client sent it again too late for a retry
  IF (redemption_count > 1 OR (redemption_count = 1 AND answer.failure IS NOT NULL))
     AND (client_session.client_id <> presenting_client
          OR clock_timestamp() > first_redeemed_at + make_interval(secs => (expected -> 'retry_seconds')::double precision)) THEN
    answer.failure := 'replayed';
  END IF;
  IF answer.failure = 'replayed' OR answer.burned THEN
    DELETE FROM client_sessions WHERE id = client_session.id;
  END IF;
  answer.failure := coalesce(answer.failure, 'retried');
  RETURN answer;
END $$;
