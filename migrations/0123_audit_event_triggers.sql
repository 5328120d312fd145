-- The audit trail is append-only, with one exception: a transaction that sets gatehouse.audit_retention to the seconds for which events are kept, a day
-- at least, may delete older events. The background job does so (AUDIT_RETENTION).
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- refuses also a DELETE that would find no row
  IF TG_OP <> 'DELETE' OR coalesce(current_setting('gatehouse.audit_retention', true), '') = '' THEN
    RAISE EXCEPTION 'the table % is append-only', TG_TABLE_NAME;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION refuse_young_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kept bigint := nullif(current_setting('gatehouse.audit_retention', true), '')::bigint;
BEGIN
  IF kept IS NULL OR kept < 86400 OR OLD.at >= now() - make_interval(secs => kept) THEN
    RAISE EXCEPTION 'the table % is append-only', TG_TABLE_NAME;
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER audit_events_young BEFORE DELETE ON audit_events FOR EACH ROW EXECUTE FUNCTION refuse_young_deletion();

-- Orders the mail about an event, for any actor. The mail about a user's own change has the language of the request, which the transaction names in
-- gatehouse.languages; a change by others says nothing about the user's language. The conditions are here and not in a WHEN of the trigger, which
-- each statement would read anew.
CREATE FUNCTION audit_event_mail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.outcome <> 'success' THEN
    RETURN NULL;
  END IF;
  IF (NEW.type = 'client.registered' AND NEW.detail ->> 'status' = 'disabled')
     OR (NEW.type = 'client.updated' AND NEW.detail ->> 'waits_for_approval' = 'true') THEN
    INSERT INTO mails (name) VALUES ('registrations') ON CONFLICT (name) WHERE name = 'registrations' DO NOTHING;
  ELSIF NEW.type IN ('client.approved', 'client.refused') THEN
    INSERT INTO mails (name, client_id, data)
    SELECT 'registration-decided', c.client_id, jsonb_strip_nulls(jsonb_build_object(
             'approved', NEW.type = 'client.approved', 'reason', NEW.detail -> 'reason'))
      FROM clients c WHERE c.client_id = NEW.client_id AND c.metadata ? 'contacts';
  ELSIF NEW.type IN ('user.password_changed', 'user.second_factor_added', 'user.second_factor_removed', 'user.recovery_codes_renewed') THEN
    INSERT INTO mails (name, sub, locale, data)
    SELECT CASE NEW.type WHEN 'user.password_changed' THEN 'password-changed' ELSE 'second-factor-changed' END, NEW.sub,
           CASE WHEN NEW.actor = NEW.sub THEN nullif(current_setting('gatehouse.languages', true), '') END,
           jsonb_strip_nulls(jsonb_build_object('at', NEW.at, 'own', NEW.actor = NEW.sub, 'address',
             CASE WHEN NEW.actor = NEW.sub THEN host(NEW.address) END))
      FROM users u WHERE u.sub = NEW.sub AND u.email_verified AND u.email IS NOT NULL;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_events_mail AFTER INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION audit_event_mail();
