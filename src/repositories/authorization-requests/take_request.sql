-- Binds a pushed request to the first browser that presents its request_uri, and counts it in the network of that browser from then on. Returns 'taken',
-- 'full' if that network is at its limit, or NULL if the request is gone, or belongs to another client or browser. A request with prompt=none waits for
-- no user, so the limit does not apply. Its time in the browser starts here, so that a sign-in counts as recent only if it comes later.
CREATE FUNCTION {{take_request}}(
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
  ELSIF NOT pushed.silent AND {{network_is_full}}(from_network, network_most, presented) THEN
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
  -- a concurrent call of this browser or another one was first
  PERFORM FROM authorization_requests WHERE id_hash = presented AND browser_hash = browser;
  RETURN CASE WHEN FOUND THEN 'taken' END;
END $$;
