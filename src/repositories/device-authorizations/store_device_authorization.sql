-- Stores a device authorization request (RFC 8628 section 3.1). Returns 'stored', 'full' if the client or the network has as many undecided requests as
-- it may have, 'replayed' if its DPoP proof (as for use_proof()) was used before, or 'taken' if another request has the user code. Concurrent requests count each other: each transaction holds the locks until its row is
-- visible to the next. Without a network the request counts for the client alone.
CREATE FUNCTION {{store_device_authorization}}(
  new_device_code bytea, new_user_code bytea, requesting_client text, requested_scope text, requested_audience text[], device_cnf jsonb, device_address inet,
  device_network text, interval_seconds integer, lifetime_seconds double precision, max_per_client integer, max_per_network integer, proof jsonb, requested_details jsonb
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  waiting_count integer;
BEGIN
  IF device_network IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(51, hashtext(device_network));
    SELECT count(*) INTO waiting_count
      FROM (SELECT FROM device_authorizations
             WHERE network = device_network AND decision IS NULL AND expires_at > now() LIMIT max_per_network) AS waiting;
    IF waiting_count >= max_per_network THEN
      RETURN 'full';
    END IF;
  END IF;
  PERFORM pg_advisory_xact_lock(52, hashtext(requesting_client));
  SELECT count(*) INTO waiting_count
    FROM (SELECT FROM device_authorizations
           WHERE client_id = requesting_client AND decision IS NULL AND expires_at > now() LIMIT max_per_client) AS waiting;
  IF waiting_count >= max_per_client THEN
    RETURN 'full';
  END IF;
  INSERT INTO device_authorizations
    (device_code_hash, user_code_hash, client_id, scope, audience, details, cnf, address, network, poll_interval, expires_at)
    VALUES (new_device_code, new_user_code, requesting_client, requested_scope, requested_audience, requested_details, device_cnf, device_address, device_network,
            interval_seconds, now() + make_interval(secs => lifetime_seconds))
    ON CONFLICT (user_code_hash) DO NOTHING;
  IF NOT FOUND THEN
    RETURN 'taken';
  END IF;
  IF proof IS NOT NULL AND NOT {{use_proof}}(proof) THEN
    DELETE FROM device_authorizations WHERE device_code_hash = new_device_code;
    RETURN 'replayed';
  END IF;
  RETURN 'stored';
END $$;
