-- Stores a request that a client pushed (RFC 9126), and returns 'stored'; 'full' if its network is at its limit, or 'replayed' if its DPoP proof (as for
-- use_proof()) was used before. Without a network it counts in none. The oldest pushed requests of the client beyond `max_others` are deleted.
CREATE FUNCTION {{push_request}}(
  new_id bytea, pushing_client text, new_parameters jsonb, lifetime_seconds double precision, max_others integer, client_network text,
  max_per_network integer, proof jsonb
) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF {{network_is_full}}(client_network, max_per_network, new_id) THEN
    RETURN 'full';
  END IF;
  IF proof IS NOT NULL AND NOT {{use_proof}}(proof) THEN
    RETURN 'replayed';
  END IF;
  DELETE FROM authorization_requests WHERE id_hash IN (
    SELECT id_hash FROM authorization_requests WHERE id_hash IN (
      SELECT id_hash FROM authorization_requests WHERE client_id = pushing_client AND browser_hash IS NULL
       ORDER BY created_at DESC OFFSET max_others) FOR UPDATE SKIP LOCKED);
  INSERT INTO authorization_requests (id_hash, client_id, endpoint, parameters, expires_at, network)
    VALUES (new_id, pushing_client, 'authorization', new_parameters, now() + make_interval(secs => lifetime_seconds), client_network);
  RETURN 'stored';
END $$;
