-- Creates the tables of webhooks (Standard Webhooks): the receivers of events, and the messages that they have yet to get.
CREATE TABLE webhooks (
  id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
  url text NOT NULL CHECK (char_length(url) BETWEEN 1 AND 2000),
  -- types of the audit trail, or the beginning of types before an asterisk
  events text[] NOT NULL CHECK (array_length(events, 1) BETWEEN 1 AND 100),
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
  -- both sign each message, so that a receiver can change from one to the other
  secret_encrypted bytea,
  secret_since timestamptz,
  second_secret_encrypted bytea,
  second_secret_since timestamptz,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE UNIQUE INDEX webhooks_name ON webhooks (name);
CREATE INDEX webhooks_secret_key_id ON webhooks (sealed_key_id(secret_encrypted));
CREATE INDEX webhooks_second_secret_key_id ON webhooks (sealed_key_id(second_secret_encrypted));

CREATE TABLE webhook_deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- without a reference: the messages of a deleted webhook are deleted in portions
  webhook_id text NOT NULL,
  -- of the audit trail, whose event may be gone before the delivery
  event_id bigint NOT NULL,
  type text NOT NULL,
  body text NOT NULL,
  status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'delivered', 'given_up')),
  attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  -- an instance that tries moves it ahead: if that instance dies, another one tries then
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  -- the last answer: its status, its time in milliseconds and the first characters of its body
  answer_status integer,
  answer_time integer,
  answer_start text,
  last_failure text,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  finished_at timestamptz,
  -- a finished delivery stays for a while, for administrators
  expires_at timestamptz,
  CHECK ((status = 'waiting') = (finished_at IS NULL) AND (finished_at IS NULL) = (expires_at IS NULL))
);
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id, next_attempt_at, id) WHERE status = 'waiting';
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE status = 'waiting';
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at) WHERE status = 'waiting';
CREATE INDEX webhook_deliveries_newest ON webhook_deliveries (webhook_id, created_at DESC, id DESC);
CREATE INDEX webhook_deliveries_finished ON webhook_deliveries (webhook_id, finished_at DESC, id DESC) WHERE status <> 'waiting';
CREATE INDEX webhook_deliveries_expiry ON webhook_deliveries (expires_at);

-- Webhooks whose last delivery failed: a pause applies to all messages to one receiver.
CREATE TABLE webhook_receivers (
  webhook_id text PRIMARY KEY REFERENCES webhooks ON DELETE CASCADE,
  failures integer NOT NULL CHECK (failures >= 1),
  failing_since timestamptz NOT NULL,
  retry_at timestamptz NOT NULL
);
CREATE INDEX webhook_receivers_retry ON webhook_receivers (retry_at);
