-- Answers a poll with a device code (RFC 8628 section 3.5). An approved request has an authorization code under the same digest, which redeem_code()
-- redeems exactly once. The row's lock puts concurrent polls in turn. `failure` is also pending, slow_down or denied; the result is NULL for an unknown
-- code. Parameters as for redeem_code(), and in `expected`:
--   slow_down_seconds, max_interval: how much an early poll raises the interval, and its maximum
CREATE FUNCTION {{use_device_code}}(presented_hash bytea, expected jsonb, issue jsonb) RETURNS token_answer LANGUAGE plpgsql AS $$
DECLARE
  device device_authorizations;
  answer token_answer;
  pace record;
BEGIN
  SELECT * INTO device FROM device_authorizations WHERE device_code_hash = presented_hash FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  answer.client_id := device.client_id;
  answer.burned := false;
  IF device.client_id <> expected ->> 'client_id' THEN
    answer.failure := 'client';
  ELSIF device.cnf <> coalesce(issue -> 'cnf', '{}') THEN
    answer.failure := 'key';
  ELSIF device.expires_at <= now() THEN
    answer.failure := 'expired';
  ELSIF device.decision = 'denied' THEN
    answer.failure := 'denied';
  ELSIF device.decision = 'approved' THEN
    RETURN {{redeem_code}}(presented_hash, expected, issue);
  ELSIF expected -> 'proof' IS NOT NULL AND NOT {{use_proof}}(expected -> 'proof') THEN
    answer.failure := 'proof';
  ELSE
    SELECT * INTO pace FROM {{pace_poll}}(
      device.next_poll_at, device.poll_interval, (expected -> 'slow_down_seconds')::integer, (expected -> 'max_interval')::integer);
    UPDATE device_authorizations SET poll_interval = pace.poll_interval, next_poll_at = pace.next_poll_at WHERE device_code_hash = presented_hash;
    answer.failure := CASE WHEN pace.is_early THEN 'slow_down' ELSE 'pending' END;
  END IF;
  RETURN answer;
END $$;
