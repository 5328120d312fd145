-- Creates the table of backchannel authentication requests (OpenID Connect CIBA Core 1.0). They are kept for a day, since the requests of a day are counted.
-- An approved request has an authorization code under the same digest, which the client redeems.
CREATE TABLE backchannel_requests (
  auth_req_id_hash bytea PRIMARY KEY,
  -- names the request on the page of its user
  id text NOT NULL UNIQUE,
  -- without a foreign key, as for devices
  client_id text NOT NULL,
  -- what the client named the user by: requests for nobody are counted like the others (security R144)
  hint_hash bytea NOT NULL,
  -- null: the request reaches nobody, and expires
  sub text REFERENCES users ON DELETE CASCADE,
  scope text NOT NULL,
  -- RFC 8707
  audience text[],
  -- RFC 9396
  details jsonb CHECK (jsonb_typeof(details) = 'array'),
  binding_message text CHECK (char_length(binding_message) BETWEEN 1 AND 64),
  acr_values text[] NOT NULL DEFAULT '{}',
  cnf confirmation,
  -- auth_req_id and client_notification_token, for the ping; null where the client polls
  notification_encrypted bytea
    CONSTRAINT backchannel_requests_sealed CHECK (notification_encrypted IS NULL OR sealed_key_id(notification_encrypted) IS NOT NULL),
  -- whether its user got a mail about it
  mailed boolean NOT NULL DEFAULT false,
  -- approved or denied
  decision text,
  -- the session and the time of the sign-in that confirmed the approval
  confirmed_by bigint,
  confirmed_at timestamptz,
  -- seconds between polls
  poll_interval integer NOT NULL,
  next_poll_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  expires_at timestamptz NOT NULL
) WITH (fillfactor = 75);
CREATE INDEX backchannel_requests_hint ON backchannel_requests (client_id, hint_hash, created_at);
CREATE INDEX backchannel_requests_waiting ON backchannel_requests (client_id, expires_at) WHERE decision IS NULL;
CREATE INDEX backchannel_requests_user ON backchannel_requests (sub, created_at) WHERE sub IS NOT NULL;
CREATE INDEX backchannel_requests_age ON backchannel_requests (created_at);
CREATE INDEX backchannel_requests_key_id ON backchannel_requests (sealed_key_id(notification_encrypted));

-- whether the client may ask users who have granted it nothing, and learns that there is no such user
ALTER TABLE clients ADD COLUMN ciba_trusted boolean NOT NULL DEFAULT false;
