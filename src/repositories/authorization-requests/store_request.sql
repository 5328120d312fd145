-- Stores a request that waits in a browser, and returns false if its network is at its limit. The oldest requests of the browser beyond `max_others` are
-- deleted (security R105), except those that another transaction has locked.
CREATE FUNCTION {{store_request}}(
  new_id bytea, new_browser bytea, requesting_client text, new_endpoint text, new_parameters jsonb, new_problem jsonb,
  lifetime_seconds double precision, max_others integer, browser_network text, max_per_network integer
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF {{network_is_full}}(browser_network, max_per_network, new_id) THEN
    RETURN false;
  END IF;
  PERFORM FROM authorization_requests WHERE browser_hash = new_browser OFFSET max_others LIMIT 1;
  IF FOUND THEN
    DELETE FROM authorization_requests WHERE id_hash IN (
      SELECT id_hash FROM authorization_requests WHERE id_hash IN (
        SELECT id_hash FROM authorization_requests WHERE browser_hash = new_browser ORDER BY created_at DESC OFFSET max_others)
      FOR UPDATE SKIP LOCKED);
  END IF;
  INSERT INTO authorization_requests (id_hash, browser_hash, client_id, endpoint, parameters, problem, expires_at, network)
    VALUES (new_id, new_browser, requesting_client, new_endpoint, new_parameters, new_problem,
            now() + make_interval(secs => lifetime_seconds), browser_network);
  RETURN true;
END $$;
