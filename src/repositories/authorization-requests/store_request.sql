-- Stores a request that waits in a browser, and returns false if its network is at its limit. The oldest requests of the browser beyond `others` are
-- deleted (security R105), except those that another transaction has locked.
CREATE FUNCTION {{store_request}}(
  new_id bytea, browser bytea, of_client text, at_endpoint text, given jsonb, wrong jsonb, seconds double precision, others integer,
  from_network text, network_most integer
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF {{network_is_full}}(from_network, network_most, new_id) THEN
    RETURN false;
  END IF;
  PERFORM FROM authorization_requests WHERE browser_hash = browser OFFSET others LIMIT 1;
  IF FOUND THEN
    DELETE FROM authorization_requests WHERE id_hash IN (
      SELECT id_hash FROM authorization_requests WHERE id_hash IN (
        SELECT id_hash FROM authorization_requests WHERE browser_hash = browser ORDER BY created_at DESC OFFSET others)
      FOR UPDATE SKIP LOCKED);
  END IF;
  INSERT INTO authorization_requests (id_hash, browser_hash, client_id, endpoint, parameters, problem, expires_at, network)
    VALUES (new_id, browser, of_client, at_endpoint, given, wrong, now() + make_interval(secs => seconds), from_network);
  RETURN true;
END $$;
