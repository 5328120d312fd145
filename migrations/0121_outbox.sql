-- Creates the outbox: what follows from a committed change, until an instance has done it. Each row belongs to a channel: `event` for what the subscriber
-- `name` does about an event, `mail` for the mail `name`, which may become several where it has several recipients. A row holds no secret: a link
-- is made when its mail is sent.
CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  channel text NOT NULL,
  name text NOT NULL,
  -- the recipient of a mail: address and language are read when it is sent
  sub text REFERENCES users ON DELETE CASCADE,
  client_id text,
  -- the recipient's address, if it is not the user's own
  recipient text CHECK (char_length(recipient) BETWEEN 3 AND 320),
  -- of the request that ordered the mail, for users who have chosen no language
  locale text,
  -- the event, or the facts of the mail
  data jsonb NOT NULL DEFAULT '{}',
  -- the session that ordered a change of the address; null for anything else
  session_id bigint,
  -- the same at each attempt, so that a mail which arrived unnoticed is recognized
  message_id uuid NOT NULL DEFAULT gen_random_uuid(),
  attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  -- an instance that makes an attempt postpones it: if that instance dies, another one tries then
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  last_failure text,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE INDEX outbox_due ON outbox (channel, next_attempt_at);
CREATE INDEX outbox_age ON outbox (channel, created_at);
CREATE INDEX outbox_user ON outbox (sub);
-- administrators receive a mail about waiting registrations once an hour at most, however many clients register
CREATE UNIQUE INDEX outbox_registrations ON outbox (name) WHERE channel = 'mail' AND name = 'registrations';
CREATE TRIGGER outbox_effects AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_effects();

-- The subscribers of each type of event. Each instance declares those of its version at its start, and every hour: an event of a type without a
-- subscriber costs no row in the outbox. A subscription that no instance has declared for a week is deleted.
CREATE TABLE event_subscriptions (
  type text NOT NULL,
  subscriber text NOT NULL,
  declared_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (type, subscriber)
);
