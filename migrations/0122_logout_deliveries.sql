-- Creates the tables of back-channel logout: the logout tokens that clients have yet to receive.
CREATE TABLE logout_deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- without references: clients of a deleted user are notified too, and no logout waits for a lock of a client's row
  client_id text NOT NULL,
  sub text NOT NULL,
  -- the pairwise subject; null for the user's own sub
  subject text,
  sid text NOT NULL,
  status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'delivered', 'refused', 'given_up')),
  attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  -- an instance that tries moves it ahead: if that instance dies, another one tries then
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  last_failure text,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  finished_at timestamptz,
  -- a finished delivery stays for a while, for administrators
  expires_at timestamptz,
  CHECK ((status = 'waiting') = (finished_at IS NULL) AND (finished_at IS NULL) = (expires_at IS NULL))
);
CREATE INDEX logout_deliveries_waiting ON logout_deliveries (client_id, attempts, id) WHERE status = 'waiting';
CREATE INDEX logout_deliveries_age ON logout_deliveries (created_at) WHERE status = 'waiting';
CREATE INDEX logout_deliveries_newest ON logout_deliveries (created_at DESC, id DESC);
CREATE INDEX logout_deliveries_newest_of_client ON logout_deliveries (client_id, created_at DESC, id DESC);
CREATE INDEX logout_deliveries_expiry ON logout_deliveries (expires_at);

-- Clients whose last delivery failed: a pause applies to all deliveries to one client.
CREATE TABLE logout_receivers (
  client_id text PRIMARY KEY,
  failures integer NOT NULL CHECK (failures >= 1),
  retry_at timestamptz NOT NULL
);
CREATE INDEX logout_receivers_expiry ON logout_receivers (retry_at);
