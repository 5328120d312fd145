-- Returns whether a network is at its limit of stored requests, not counting `excluded_id` (security R119); `max_requests` is 0 for no limit. A decided
-- request counts until the browser fetches the response, since a browser that never does could otherwise store any number. Concurrent requests count
-- each other: each transaction holds the lock until its row is visible to the next.
CREATE FUNCTION {{network_is_full}}(client_network text, max_requests integer, excluded_id bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  pending_count integer;
BEGIN
  IF max_requests <= 0 OR client_network IS NULL THEN
    RETURN false;
  END IF;
  PERFORM pg_advisory_xact_lock(50, hashtext(client_network));
  SELECT count(*) INTO pending_count
    FROM (SELECT FROM authorization_requests
           WHERE network = client_network AND expires_at > now() AND id_hash <> excluded_id LIMIT max_requests) AS pending;
  RETURN pending_count >= max_requests;
END $$;
