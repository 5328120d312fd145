-- What follows from the end of a session, whether the service or plain SQL deletes it.

-- Keeps what was granted offline_access, orders back-channel logout, and ends a change of the e-mail address that the session ordered. A session
-- that merely expired was not ended: its access tokens have an end of their own, no client is notified, and its change of the address cannot be
-- confirmed. It runs before the delete, since session_clients and client sessions go with the session.
CREATE FUNCTION session_ends() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kept bigint[];
BEGIN
  WITH detached AS (
    UPDATE client_sessions SET session_id = NULL WHERE session_id = OLD.id AND offline RETURNING id)
  SELECT coalesce(array_agg(id), '{}') INTO kept FROM detached;
  IF OLD.idle_expires_at <= now() THEN
    RETURN OLD;
  END IF;
  -- an offline grant outlives its session, except for its codes and access tokens
  IF cardinality(kept) > 0 THEN
    DELETE FROM access_tokens WHERE client_session_id = ANY (kept);
    DELETE FROM authorization_codes WHERE client_session_id = ANY (kept);
  END IF;
  INSERT INTO logout_deliveries (client_id, sub, subject, sid)
  SELECT c.client_id, OLD.sub, sc.subject, OLD.sid
    FROM session_clients sc JOIN clients c ON c.client_id = sc.client_id AND c.status = 'enabled'
   WHERE sc.session_id = OLD.id AND c.metadata ? 'backchannel_logout_uri';
  IF FOUND THEN
    PERFORM pg_notify('gatehouse', 'logout');
  END IF;
  -- a change without a noted session may have been ordered in any session of the user
  UPDATE mailed_links SET used_at = now() WHERE sub = OLD.sub AND purpose = 'verify_address' AND used_at IS NULL
     AND email IS DISTINCT FROM replaces AND coalesce(session_id, OLD.id) = OLD.id;
  DELETE FROM outbox m WHERE m.channel = 'mail' AND m.sub = OLD.sub AND m.name = 'verify-address' AND coalesce(m.session_id, OLD.id) = OLD.id
     AND m.recipient IS DISTINCT FROM (SELECT u.email FROM users u WHERE u.sub = OLD.sub);
  RETURN OLD;
END $$;
CREATE TRIGGER sessions_end BEFORE DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION session_ends();

-- Records the end of a session by plain SQL in the audit trail. A session that ends with its user, or because of another event, is no event of
-- its own.
CREATE FUNCTION record_session_end_by_sql() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (
    SELECT FROM audit_events WHERE sub = OLD.sub AND at = now() AND xmin = pg_current_xact_id()::xid
       AND (actor IS DISTINCT FROM 'sql' OR type <> 'session.ended')) THEN
    PERFORM record_event(jsonb_build_object('type', 'session.ended', 'outcome', 'success', 'actor', 'sql', 'sub', OLD.sub,
      'detail', jsonb_build_object('database_role', session_user, 'session', OLD.sid)));
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER sessions_ended_by_sql AFTER DELETE ON sessions
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.idle_expires_at > now()) EXECUTE FUNCTION record_session_end_by_sql();
