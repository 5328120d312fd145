-- Answers a token request with an auth_req_id (OpenID Connect CIBA Core 10.1, 11). An approved request has an authorization code under the same digest, which
-- redeem_code() redeems exactly once; while failed sign-ins pause its user, it waits (security R133). The row's lock puts concurrent polls in turn. `failure` is also
-- pending, slow_down or denied; the result is NULL for an unknown id. Parameters as for redeem_code(), and in `expected`:
--   slow_down_seconds, max_interval: how much an early poll raises the interval, and its maximum
CREATE FUNCTION {{use_auth_req_id}}(presented_hash bytea, expected jsonb, issue jsonb) RETURNS token_answer LANGUAGE plpgsql AS $$
DECLARE
  asked backchannel_requests;
  answer token_answer;
  pace record;
BEGIN
  SELECT * INTO asked FROM backchannel_requests WHERE auth_req_id_hash = presented_hash FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  answer.client_id := asked.client_id;
  answer.burned := false;
  IF asked.client_id <> expected ->> 'client_id' THEN
    answer.failure := 'client';
  ELSIF asked.cnf <> coalesce(issue -> 'cnf', '{}') THEN
    answer.failure := 'key';
  ELSIF asked.expires_at <= now() THEN
    answer.failure := 'expired';
  ELSIF asked.decision = 'denied' THEN
    answer.failure := 'denied';
  ELSIF asked.decision = 'approved' AND NOT EXISTS (SELECT FROM sign_in_failures f WHERE f.sub = asked.sub AND f.held_until > now()) THEN
    RETURN {{redeem_code}}(presented_hash, expected || '{"in_known_browser": false}', issue);
  ELSIF expected -> 'proof' IS NOT NULL AND NOT {{use_proof}}(expected -> 'proof') THEN
    answer.failure := 'proof';
  ELSE
    SELECT * INTO pace FROM {{pace_poll}}(
      asked.next_poll_at, asked.poll_interval, (expected -> 'slow_down_seconds')::integer, (expected -> 'max_interval')::integer);
    UPDATE backchannel_requests SET poll_interval = pace.poll_interval, next_poll_at = pace.next_poll_at WHERE auth_req_id_hash = presented_hash;
    answer.failure := CASE WHEN pace.is_early THEN 'slow_down' ELSE 'pending' END;
  END IF;
  RETURN answer;
END $$;
