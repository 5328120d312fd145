-- Tells whether as many requests of a network are stored as may be, besides the one that `but` names (security R119); `most` is 0 for no limit. A request
-- that its user decided counts until the browser fetches the response: a browser that never does could store any number. Requests that come at the
-- same time count each other: each holds the lock until its row is visible to the next.
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
