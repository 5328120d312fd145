-- Binds a pushed request to the first browser that presents its request_uri, and counts it in the network of that browser from then on. Returns 'taken',
-- 'full' if that network is at its limit, or NULL if the request does not exist, or belongs to another client or browser. With `only_silent` it binds only
-- a request with prompt=none. Such a request waits for no user, so the limit does not apply. The lifetime in the browser starts here, so that a sign-in
-- counts as recent only if it comes later.
CREATE FUNCTION {{take_request}}(
  presented_id bytea, presenting_client text, presenting_browser bytea, lifetime_seconds double precision, max_others integer, only_silent boolean,
  browser_network text, max_per_network integer
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  pushed record;
BEGIN
  SELECT browser_hash, coalesce(parameters ->> 'prompt', '') = 'none' AS silent INTO pushed FROM authorization_requests
   WHERE id_hash = presented_id AND client_id = presenting_client AND coalesce(browser_hash, presenting_browser) = presenting_browser
     AND expires_at > now() AND (NOT only_silent OR parameters ->> 'prompt' = 'none');
  IF NOT FOUND THEN
    RETURN NULL;
  ELSIF pushed.browser_hash IS NOT NULL THEN
    RETURN 'taken';
  ELSIF NOT pushed.silent AND {{network_is_full}}(browser_network, max_per_network, presented_id) THEN
    RETURN 'full';
  END IF;
  DELETE FROM authorization_requests WHERE id_hash IN (
    SELECT id_hash FROM authorization_requests WHERE id_hash IN (
      SELECT id_hash FROM authorization_requests WHERE browser_hash = presenting_browser AND id_hash <> presented_id
       ORDER BY created_at DESC OFFSET max_others) FOR UPDATE SKIP LOCKED);
  UPDATE authorization_requests SET browser_hash = presenting_browser, created_at = date_trunc('milliseconds', now()),
         expires_at = now() + make_interval(secs => lifetime_seconds), network = browser_network
   WHERE id_hash = presented_id AND browser_hash IS NULL AND expires_at > now();
  IF FOUND THEN
    RETURN 'taken';
  END IF;
  -- a concurrent call was first: of this browser, or of another one
  PERFORM FROM authorization_requests WHERE id_hash = presented_id AND browser_hash = presenting_browser;
  RETURN CASE WHEN FOUND THEN 'taken' END;
END $$;
