-- Mail that is not sent yet, and the single-use links in it.

-- Each row orders one mail, or several where it concerns several recipients. It holds no secret: a link is made when the mail is sent.
CREATE TABLE mails (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  -- the user whom the mail concerns: address and language are read when it is sent
  sub text REFERENCES users ON DELETE CASCADE,
  client_id text,
  -- the recipient, if it is not the user's own address
  recipient text CHECK (char_length(recipient) BETWEEN 3 AND 320),
  -- of the request that ordered the mail, for users who have chosen no language
  locale text,
  data jsonb NOT NULL DEFAULT '{}',
  -- the session that ordered a change of the address; null for any other mail
  session_id bigint,
  -- the same at each attempt, so that a mail which arrived unnoticed is recognized
  message_id uuid NOT NULL DEFAULT gen_random_uuid(),
  attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  -- an instance that tries to send postpones it: if that instance dies, another one tries then
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  last_failure text,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE INDEX mails_due ON mails (next_attempt_at);
CREATE INDEX mails_age ON mails (created_at);
CREATE INDEX mails_user ON mails (sub);
-- administrators receive a mail about waiting registrations once an hour at most, however many clients register
CREATE UNIQUE INDEX mails_registrations ON mails (name) WHERE name = 'registrations';

-- Wakes the instances that send mail. It runs for each row, since a statement that inserts none must not notify: a transaction that notifies
-- waits at its commit for all others that do. PostgreSQL sends the same notification of one transaction once.
CREATE FUNCTION mail_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gatehouse', 'mail');
  RETURN NULL;
END $$;
CREATE TRIGGER mails_effects AFTER INSERT ON mails FOR EACH ROW EXECUTE FUNCTION mail_effects();

CREATE TABLE mailed_links (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  purpose text NOT NULL CHECK (purpose IN ('verify_address', 'stop_change', 'reset_password', 'recovery', 'sign_up')),
  -- null for a visitor without an account
  sub text REFERENCES users ON DELETE CASCADE,
  -- the address to which the link was sent, and which it proves; null for a link that an administrator hands over
  email text,
  -- the address that the account had then
  replaces text,
  -- the session that ordered a change of the address; null for any other link
  session_id bigint,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  CHECK ((sub IS NULL) = (purpose = 'sign_up') AND (email IS NULL) = (purpose = 'recovery'))
);
CREATE INDEX mailed_links_user ON mailed_links (sub);
CREATE INDEX mailed_links_expiry ON mailed_links (expires_at);
