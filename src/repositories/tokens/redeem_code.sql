-- Redeems a code exactly once (security R14, R15, R16, R17, R22, R35). It locks the client session first, as refresh, revocation and logout do. Then an
-- update claims the code and sees the effects of earlier redemptions. `failure` is NULL if tokens were issued; the result is NULL for an unknown code. A
-- test compares it with decideRedemption() in src/oauth/code-redemption.ts.
--   expected: client_id, redirect_uri, code_challenge (computed from the verifier), resource
--   issue: access_token, refresh_token, handle (hashes in hex), access_seconds, refresh_seconds, family_seconds
CREATE FUNCTION {{redeem_code}}(presented bytea, expected jsonb, issue jsonb) RETURNS token_answer LANGUAGE plpgsql AS $$
DECLARE
  by_client text := expected ->> 'client_id';
  verified_challenge text := expected ->> 'code_challenge';
  for_resource text := expected ->> 'resource';
  answer token_answer;
  code record;
  family record;
  uses integer;
  used_at timestamptz;
  wrong smallint;
  family_until timestamptz;
  needed_until timestamptz;
BEGIN
  SELECT ac.client_session_id, ac.expires_at, ac.redirect_uri, ac.code_challenge INTO code FROM authorization_codes ac
   WHERE ac.code_hash = presented;
  SELECT cs.* INTO family FROM client_sessions cs WHERE cs.id = code.client_session_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  answer.client_session_id := family.id;
  answer.client_id := family.client_id;
  answer.sub := family.sub;
  SELECT s.expires_at INTO family_until
    FROM sessions s, users u, clients c, grants g
   WHERE s.id = family.session_id AND s.idle_expires_at > now() AND u.sub = family.sub AND u.status = 'enabled'
     AND c.client_id = family.client_id AND c.status = 'enabled' AND c.epoch = family.client_epoch
     AND g.sub = family.sub AND g.client_id = family.client_id;
  answer.failure := CASE
    WHEN NOT FOUND THEN 'ended'
    WHEN code.expires_at <= now() THEN 'expired'
    WHEN family.client_id <> by_client THEN 'client'
    WHEN code.redirect_uri IS DISTINCT FROM expected ->> 'redirect_uri' THEN 'redirect_uri'
    WHEN code.code_challenge IS NOT NULL AND verified_challenge IS NULL THEN 'pkce_missing'
    WHEN code.code_challenge IS NULL AND verified_challenge IS NOT NULL THEN 'pkce_unexpected'
    WHEN code.code_challenge <> verified_challenge THEN 'pkce'
    WHEN for_resource IS NOT NULL AND NOT coalesce(for_resource = ANY (family.audience), false) THEN 'resource' END;
  UPDATE authorization_codes ac SET
         redemptions = ac.redemptions + CASE WHEN ac.redeemed_at IS NOT NULL OR answer.failure IS NULL THEN 1 ELSE 0 END,
         redeemed_at = CASE WHEN ac.redeemed_at IS NULL AND answer.failure IS NULL THEN clock_timestamp() ELSE ac.redeemed_at END,
         failures = ac.failures + CASE WHEN ac.redeemed_at IS NULL
                      AND answer.failure IN ('client', 'redirect_uri', 'pkce_missing', 'pkce_unexpected', 'pkce') THEN 1 ELSE 0 END
   WHERE ac.code_hash = presented
  RETURNING ac.redemptions, ac.redeemed_at, ac.failures INTO uses, used_at, wrong;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  answer.burned := wrong >= 5;
  IF uses = 1 AND answer.failure IS NULL THEN
    answer.sid := family.sid;
    answer.subject := coalesce(family.subject, family.sub);
    answer.scope := family.scope;
    answer.auth_time := family.auth_time;
    answer.amr := family.amr;
    answer.nonce := family.nonce;
    answer.requested := family.requested;
    answer.issued_at := now();
    needed_until := now() + make_interval(secs => (issue -> 'access_seconds')::double precision);
    INSERT INTO access_tokens (token_hash, client_session_id, expires_at) VALUES (decode(issue ->> 'access_token', 'hex'), family.id, needed_until);
    IF issue ->> 'handle' IS NOT NULL THEN
      needed_until := greatest(needed_until, family_until);
      INSERT INTO client_session_handles (handle_hash, client_session_id) VALUES (decode(issue ->> 'handle', 'hex'), family.id);
    END IF;
    IF issue ->> 'refresh_token' IS NOT NULL THEN
      IF family.offline THEN
        family_until := family.created_at + make_interval(secs => (issue -> 'family_seconds')::double precision);
      END IF;
      needed_until := greatest(needed_until, family_until);
      INSERT INTO refresh_tokens (token_hash, client_session_id, generation, expires_at)
        VALUES (decode(issue ->> 'refresh_token', 'hex'), family.id, 1,
                least(now() + make_interval(secs => (issue -> 'refresh_seconds')::double precision), family_until));
    END IF;
    IF needed_until > family.expires_at THEN
      UPDATE client_sessions SET expires_at = needed_until WHERE id = family.id;
    END IF;
    RETURN answer;
  END IF;
  -- another client sent a redeemed code, or its own client sent it again too late for a retry
  IF (uses > 1 OR (uses = 1 AND answer.failure IS NOT NULL))
     AND (family.client_id <> by_client OR clock_timestamp() > used_at + interval '5 seconds') THEN
    answer.failure := 'replayed';
  END IF;
  IF answer.failure = 'replayed' OR answer.burned THEN
    DELETE FROM client_sessions WHERE id = family.id;
  END IF;
  answer.failure := coalesce(answer.failure, 'retried');
  RETURN answer;
END $$;
