-- Returns whether a network is at its limit of stored requests, not counting the request `but` (security R119); `most` is 0 for no limit. A decided
-- request counts until the browser fetches the response, since a browser that never does could otherwise store any number. Concurrent requests count
-- each other: each transaction holds the lock until its row is visible to the next.
CREATE FUNCTION {{network_is_full}}(of_network text, most integer, but bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  waiting integer;
BEGIN
  IF most <= 0 OR of_network IS NULL THEN
    RETURN false;
  END IF;
  PERFORM pg_advisory_xact_lock(50, hashtext(of_network));
  SELECT count(*) INTO waiting
    FROM (SELECT FROM authorization_requests
           WHERE network = of_network AND expires_at > now() AND id_hash <> but LIMIT most) AS pending;
  RETURN waiting >= most;
END $$;
