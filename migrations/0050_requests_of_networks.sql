-- Requests that wait for an answer are bounded for each network, an IPv4 /24 or an IPv6 /64, since anybody can make them without a cookie
-- (security R119). A row of an instance of the version before has no network, and is bounded by its browser or its client alone.
ALTER TABLE authorization_requests ADD COLUMN network text;
CREATE INDEX authorization_requests_network ON authorization_requests (network, expires_at) WHERE network IS NOT NULL;

-- Whether as many requests of a network are stored as may, without the one that `but` names. One whose user decided counts until its answer
-- is fetched: a browser that never comes for it could store any number. Those that come at once count each other: the lock is held until the
-- row of the one before is there for all to see. `most` is 0 for any number.
CREATE FUNCTION network_is_full(of_network text, most integer, but bytea) RETURNS boolean LANGUAGE plpgsql AS $$
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

-- As store_request, for which the network has to have room: false where it has none.
CREATE FUNCTION store_request_of_network(
  new_id bytea, browser bytea, of_client text, at_endpoint text, given jsonb, wrong jsonb, seconds double precision, others integer,
  from_network text, network_most integer
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF network_is_full(from_network, network_most, new_id) THEN
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

-- Stores a request that a client pushed, whose oldest go when too many of its requests wait for a browser; false as above. Without a network it
-- counts in none.
CREATE FUNCTION push_request(
  new_id bytea, of_client text, given jsonb, seconds double precision, others integer, from_network text, network_most integer
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF network_is_full(from_network, network_most, new_id) THEN
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

-- Binds a pushed request to the browser that comes with its name first, and counts it in that one's network from then on: 'full' where that has
-- no room, NULL where the request is gone, another client's or another browser's. One with prompt=none waits for no user, and needs no room. Its time in the browser begins when it comes there: only a
-- sign-in after that is a fresh one.
CREATE FUNCTION take_request(
  presented bytea, of_client text, browser bytea, seconds double precision, others integer, only_silent boolean, from_network text,
  network_most integer
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  pushed record;
BEGIN
  SELECT browser_hash, coalesce(parameters ->> 'prompt', '') = 'none' AS silent INTO pushed FROM authorization_requests
   WHERE id_hash = presented AND client_id = of_client AND coalesce(browser_hash, browser) = browser AND expires_at > now()
     AND (NOT only_silent OR parameters ->> 'prompt' = 'none');
  IF NOT FOUND THEN
    RETURN NULL;
  ELSIF pushed.browser_hash IS NOT NULL THEN
    RETURN 'taken';
  ELSIF NOT pushed.silent AND network_is_full(from_network, network_most, presented) THEN
    RETURN 'full';
  END IF;
  DELETE FROM authorization_requests WHERE id_hash IN (
    SELECT id_hash FROM authorization_requests WHERE id_hash IN (
      SELECT id_hash FROM authorization_requests WHERE browser_hash = browser AND id_hash <> presented
       ORDER BY created_at DESC OFFSET others) FOR UPDATE SKIP LOCKED);
  UPDATE authorization_requests SET browser_hash = browser, created_at = date_trunc('milliseconds', now()),
         expires_at = now() + make_interval(secs => seconds), network = from_network
   WHERE id_hash = presented AND browser_hash IS NULL AND expires_at > now();
  IF FOUND THEN
    RETURN 'taken';
  END IF;
  -- another tab came first: of the same browser, or not
  PERFORM FROM authorization_requests WHERE id_hash = presented AND browser_hash = browser;
  RETURN CASE WHEN FOUND THEN 'taken' END;
END $$;
