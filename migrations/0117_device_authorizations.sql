-- Creates the table of device authorization requests (RFC 8628). Only the service writes them, for some minutes: they name the client without a foreign key. An approved
-- request has an authorization code under the same digest, which the device redeems.
CREATE TABLE device_authorizations (
  device_code_hash bytea PRIMARY KEY,
  -- keyed: a user code has few bits
  user_code_hash bytea NOT NULL UNIQUE,
  client_id text NOT NULL,
  scope text NOT NULL,
  -- RFC 8707
  audience text[],
  -- where the device asked, for the user who decides
  address inet,
  -- an IPv4 /24 or IPv6 /64, where the client is public: its requests are bounded for each network
  network text,
  -- approved or denied
  decision text,
  -- seconds between polls
  poll_interval integer NOT NULL,
  next_poll_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  expires_at timestamptz NOT NULL,
  cnf confirmation
) WITH (fillfactor = 75);
CREATE INDEX device_authorizations_client ON device_authorizations (client_id, expires_at) WHERE decision IS NULL;
CREATE INDEX device_authorizations_network ON device_authorizations (network, expires_at) WHERE decision IS NULL AND network IS NOT NULL;
CREATE INDEX device_authorizations_expiry ON device_authorizations (expires_at);
