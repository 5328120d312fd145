-- A change of the e-mail address that waits for its confirmation ends with the session that ordered it, and the address before can stop it.

-- the session that ordered a change; null for anything else, and for a change that an instance of the version before took
ALTER TABLE mails ADD COLUMN session_id bigint;
ALTER TABLE mailed_links ADD COLUMN session_id bigint;

ALTER TABLE mailed_links DROP CONSTRAINT mailed_links_purpose_check,
  ADD CONSTRAINT mailed_links_purpose_check
    CHECK (purpose IN ('verify_address', 'stop_change', 'reset_password', 'recovery', 'sign_up')) NOT VALID;
ALTER TABLE mailed_links VALIDATE CONSTRAINT mailed_links_purpose_check;

-- By SQL, too. Of a change whose session nobody noted each session may be the one that ordered it. A session that merely expired needs no
-- trigger: its change cannot be confirmed.
CREATE FUNCTION session_address_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE mailed_links SET used_at = now() WHERE sub = OLD.sub AND purpose = 'verify_address' AND used_at IS NULL
     AND email IS DISTINCT FROM replaces AND coalesce(session_id, OLD.id) = OLD.id;
  DELETE FROM mails m WHERE m.sub = OLD.sub AND m.name = 'verify-address' AND coalesce(m.session_id, OLD.id) = OLD.id
     AND m.recipient IS DISTINCT FROM (SELECT u.email FROM users u WHERE u.sub = OLD.sub);
  RETURN NULL;
END $$;
CREATE TRIGGER sessions_address_changes AFTER DELETE ON sessions FOR EACH ROW
  WHEN (OLD.idle_expires_at > now()) EXECUTE FUNCTION session_address_changes();
