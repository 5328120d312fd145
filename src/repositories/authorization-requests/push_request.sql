-- Stores a request that a client pushed (RFC 9126), and returns false if its network is at its limit. Without a network it counts in none. The oldest
-- pushed requests of the client beyond `others` are deleted.
CREATE FUNCTION {{push_request}}(
  new_id bytea, of_client text, given jsonb, seconds double precision, others integer, from_network text, network_most integer
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF {{network_is_full}}(from_network, network_most, new_id) THEN
    RETURN false;
  END IF;
  DELETE FROM authorization_requests WHERE id_hash IN (
    SELECT id_hash FROM authorization_requests WHERE id_hash IN (
      SELECT id_hash FROM authorization_requests WHERE client_id = of_client AND browser_hash IS NULL
       ORDER BY created_at DESC OFFSET others) FOR UPDATE SKIP LOCKED);
  INSERT INTO authorization_requests (id_hash, client_id, endpoint, parameters, expires_at, network)
    VALUES (new_id, of_client, 'authorization', given, now() + make_interval(secs => seconds), from_network);
  RETURN true;
END $$;
