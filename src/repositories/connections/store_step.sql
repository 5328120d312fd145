-- Stores a step of a sign-in by a connection, and returns false if the network is at its limit of pending sign-ins (security R119), which counts
-- authorization requests, too. The oldest steps of the browser beyond `max_others` are deleted (security R105).
CREATE FUNCTION {{store_step}}(
  new_id text, new_step text, of_connection text, of_browser bytea, of_network text, new_sealed bytea, lifetime_seconds double precision,
  max_others integer, max_per_network integer
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  pending_count integer;
BEGIN
  IF max_per_network > 0 AND of_network IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(50, hashtext(of_network));
    SELECT count(*) INTO pending_count FROM (
      SELECT FROM authorization_requests WHERE network = of_network AND expires_at > now()
      UNION ALL
      SELECT FROM connection_steps WHERE network = of_network AND expires_at > now()
      LIMIT max_per_network) AS pending;
    IF pending_count >= max_per_network THEN
      RETURN false;
    END IF;
  END IF;
  DELETE FROM connection_steps WHERE id IN (
    SELECT id FROM connection_steps WHERE id IN (
      SELECT id FROM connection_steps WHERE browser_hash = of_browser ORDER BY created_at DESC OFFSET max_others)
    FOR UPDATE SKIP LOCKED);
  INSERT INTO connection_steps (id, step, connection_id, browser_hash, network, sealed_encrypted, expires_at)
    VALUES (new_id, new_step, of_connection, of_browser, of_network, new_sealed, now() + make_interval(secs => lifetime_seconds));
  RETURN true;
END $$;
