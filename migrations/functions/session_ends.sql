-- Keeps what was granted offline_access, orders back-channel logout, and ends a change of the e-mail address that the session ordered. A session
-- that merely expired was not ended: its access tokens have an end of their own, no client is notified, and its change of the address cannot be
-- confirmed. It runs before the delete, since session_clients and client sessions go with the session.
CREATE OR REPLACE FUNCTION session_ends() RETURNS trigger LANGUAGE plpgsql AS $$
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
