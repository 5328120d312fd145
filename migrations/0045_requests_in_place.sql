-- An answer to a question of consent is noted in the request's row, in its place: no index has what changes. So its user is named without a
-- foreign key, as its client is. The answer counts only in that user's session, of which nothing is left once the user is deleted; and the
-- request is gone after minutes.
ALTER TABLE authorization_requests DROP CONSTRAINT authorization_requests_decided_sub_fkey;
DROP INDEX authorization_requests_decided;
ALTER TABLE authorization_requests SET (fillfactor = 75);

-- Stores a request that waits in a browser, whose oldest go beyond `others` (security R105), but for those that somebody is at just now.
CREATE FUNCTION store_request(
  new_id bytea, browser bytea, of_client text, at_endpoint text, given jsonb, wrong jsonb, seconds double precision, others integer
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM authorization_requests WHERE browser_hash = browser OFFSET others LIMIT 1;
  IF FOUND THEN
    DELETE FROM authorization_requests WHERE id_hash IN (
      SELECT id_hash FROM authorization_requests WHERE id_hash IN (
        SELECT id_hash FROM authorization_requests WHERE browser_hash = browser ORDER BY created_at DESC OFFSET others)
      FOR UPDATE SKIP LOCKED);
  END IF;
  INSERT INTO authorization_requests (id_hash, browser_hash, client_id, endpoint, parameters, problem, expires_at)
    VALUES (new_id, browser, of_client, at_endpoint, given, wrong, now() + make_interval(secs => seconds));
END $$;
