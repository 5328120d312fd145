-- A notice of a changed password or second factor is in the language of the request by which the person made the change, where they have
-- chosen none. Who writes the event says it for the transaction in the setting gatehouse.languages; it stands in no row of the trail. What
-- others change says nothing of the person's language.
CREATE OR REPLACE FUNCTION audit_event_mail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.type IN ('client.registered', 'client.updated') THEN
    INSERT INTO mails (name) VALUES ('registrations') ON CONFLICT (name) WHERE name = 'registrations' DO NOTHING;
  ELSIF NEW.type IN ('client.approved', 'client.refused') THEN
    INSERT INTO mails (name, client_id, data)
    SELECT 'registration-decided', c.client_id, jsonb_strip_nulls(jsonb_build_object(
             'approved', NEW.type = 'client.approved', 'reason', NEW.detail -> 'reason'))
      FROM clients c WHERE c.client_id = NEW.client_id AND c.metadata ? 'contacts';
  ELSE
    INSERT INTO mails (name, sub, locale, data)
    SELECT CASE NEW.type WHEN 'user.password_changed' THEN 'password-changed' ELSE 'second-factor-changed' END, NEW.sub,
           CASE WHEN NEW.actor = NEW.sub THEN nullif(current_setting('gatehouse.languages', true), '') END,
           jsonb_strip_nulls(jsonb_build_object('at', NEW.at, 'own', NEW.actor = NEW.sub, 'address',
             CASE WHEN NEW.actor = NEW.sub THEN host(NEW.address) END))
      FROM users u WHERE u.sub = NEW.sub AND u.email_verified AND u.email IS NOT NULL;
  END IF;
  RETURN NULL;
END $$;
