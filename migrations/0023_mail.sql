-- Mail: what has yet to be sent, and the single-use links in it.

-- Each row is an order for one mail, or for as many as it turns out to concern. No secret stands in it: a link is made as the mail is sent.
CREATE TABLE mails (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  -- whom it is about: the address and the language are looked up as it is sent
  sub text REFERENCES users ON DELETE CASCADE,
  client_id text,
  -- where it goes, if not to the user's own address
  recipient text CHECK (char_length(recipient) BETWEEN 3 AND 320),
  -- of the request that ordered it, for people who have chosen none
  locale text,
  data jsonb NOT NULL DEFAULT '{}',
  -- the same at each attempt, so that a mail which arrived unnoticed is known for the same
  message_id uuid NOT NULL DEFAULT gen_random_uuid(),
  attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  -- an instance that tries moves it ahead: if that dies, another tries then
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  last_failure text,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE INDEX mails_due ON mails (next_attempt_at);
CREATE INDEX mails_age ON mails (created_at);
CREATE INDEX mails_user ON mails (sub);
-- administrators hear of what waits once an hour at most, however much registers
CREATE UNIQUE INDEX mails_registrations ON mails (name) WHERE name = 'registrations';

CREATE FUNCTION mail_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gatehouse', 'mail');
  RETURN NULL;
END $$;
CREATE TRIGGER mails_effects AFTER INSERT ON mails FOR EACH STATEMENT EXECUTE FUNCTION mail_effects();

CREATE TABLE mailed_links (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  purpose text NOT NULL CHECK (purpose IN ('verify_address', 'reset_password', 'recovery', 'sign_up')),
  -- null for somebody who has no account yet
  sub text REFERENCES users ON DELETE CASCADE,
  -- the address that it was sent to, and so proves; null for a link that an administrator hands over
  email text,
  -- the address that the account had then
  replaces text,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  CHECK ((sub IS NULL) = (purpose = 'sign_up') AND (email IS NULL) = (purpose = 'recovery'))
);
CREATE INDEX mailed_links_user ON mailed_links (sub);
CREATE INDEX mailed_links_expiry ON mailed_links (expires_at);

-- With another password or another address, by SQL too, what was sent before is worth nothing.
CREATE FUNCTION user_mailed_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE mailed_links SET used_at = now() WHERE sub = NEW.sub AND used_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER users_mailed_links AFTER UPDATE OF password_hash, email ON users FOR EACH ROW
  WHEN (OLD.email IS DISTINCT FROM NEW.email OR (OLD.password_hash IS DISTINCT FROM NEW.password_hash
    AND current_setting('gatehouse.rehash', true) IS DISTINCT FROM 'on'))
  EXECUTE FUNCTION user_mailed_links();

-- What the trail records is what people are told of, whoever did it and by whatever way.
CREATE FUNCTION audit_event_mail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.type IN ('client.registered', 'client.updated') THEN
    INSERT INTO mails (name) VALUES ('registrations') ON CONFLICT (name) WHERE name = 'registrations' DO NOTHING;
  ELSIF NEW.type IN ('client.approved', 'client.refused') THEN
    INSERT INTO mails (name, client_id, data)
    SELECT 'registration-decided', c.client_id, jsonb_strip_nulls(jsonb_build_object(
             'approved', NEW.type = 'client.approved', 'reason', NEW.detail -> 'reason'))
      FROM clients c WHERE c.client_id = NEW.client_id AND c.metadata ? 'contacts';
  ELSE
    INSERT INTO mails (name, sub, data)
    SELECT CASE NEW.type WHEN 'user.password_changed' THEN 'password-changed' ELSE 'second-factor-changed' END, NEW.sub,
           jsonb_strip_nulls(jsonb_build_object('at', NEW.at, 'own', NEW.actor = NEW.sub, 'address',
             CASE WHEN NEW.actor = NEW.sub THEN host(NEW.address) END))
      FROM users u WHERE u.sub = NEW.sub AND u.email_verified AND u.email IS NOT NULL;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_events_mail AFTER INSERT ON audit_events FOR EACH ROW WHEN (NEW.outcome = 'success' AND (
    NEW.type IN ('client.approved', 'client.refused', 'user.password_changed')
    OR (NEW.type = 'client.registered' AND NEW.detail ->> 'status' = 'disabled')
    OR (NEW.type = 'client.updated' AND NEW.detail ->> 'waits_for_approval' = 'true')
    OR NEW.type IN ('user.second_factor_added', 'user.second_factor_removed', 'user.recovery_codes_renewed',
                    'user.passkey_added', 'user.passkey_removed')))
  EXECUTE FUNCTION audit_event_mail();
