-- Creates the table of authorization requests that wait for a user. Only the service writes them, for some minutes: they name client and user without foreign keys,
-- and no index holds what the consent page changes.
CREATE TABLE authorization_requests (
  id_hash bytea PRIMARY KEY,
  -- the browser to which the request is bound; null for a pushed request that no browser has used yet (RFC 9126)
  browser_hash bytea,
  client_id text NOT NULL,
  -- authorization or authentication (the short form)
  endpoint text NOT NULL,
  parameters jsonb NOT NULL,
  -- why the stored request cannot be served, where no user is signed in yet to be sent back with the error
  problem jsonb,
  -- what the user decided on the consent page for this request
  decision text,
  decided_sub text,
  -- an IPv4 /24 or IPv6 /64: requests are bounded for each network (security R119)
  network text,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  expires_at timestamptz NOT NULL,
  CHECK ((decision IS NULL) = (decided_sub IS NULL))
) WITH (fillfactor = 75);
CREATE INDEX authorization_requests_browser ON authorization_requests (browser_hash, created_at);
CREATE INDEX authorization_requests_client ON authorization_requests (client_id);
CREATE INDEX authorization_requests_pushed ON authorization_requests (client_id, created_at) WHERE browser_hash IS NULL;
CREATE INDEX authorization_requests_network ON authorization_requests (network, expires_at) WHERE network IS NOT NULL;
CREATE INDEX authorization_requests_expiry ON authorization_requests (expires_at);
