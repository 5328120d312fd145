-- Signs a user in: the session, the device cookie, the mail about a new browser, and the event. A user who has a second factor must have shown one.
-- The oldest live sessions beyond `most_sessions` end, unless that is 0. Returns the sids of these, or NULL if it signed no user in.
CREATE FUNCTION {{sign_in}}(
  new_token bytea, new_sid text, whose text, shown_password text, methods text[], idle_seconds double precision, seconds double precision,
  agent text, place inet, shown_at timestamptz, renewed bigint, most_sessions integer,
  browser bytea, browser_before bytea, browser_seconds double precision, most_browsers integer,
  mail_name text, mail_locale text, mail_data jsonb,
  event_type text, event_outcome text, event_actor text, event_client text, event_sub text, event_address inet, event_detail jsonb,
  forgiven bytea
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  made bigint;
  gone text[];
BEGIN
  IF ('mfa' = ANY (methods)) IS NOT TRUE THEN
    -- waits for a transaction that adds a second factor, which also locks this row
    PERFORM FROM users WHERE sub = whose FOR NO KEY UPDATE;
    -- a second factor of any kind (security R127)
    IF EXISTS (SELECT FROM second_factors WHERE sub = whose) THEN
      RETURN NULL;
    END IF;
  END IF;
  made := {{store_session}}(new_token, new_sid, whose, shown_password, methods, idle_seconds, seconds, agent, place, shown_at, renewed);
  IF made IS NULL THEN
    RETURN NULL;
  END IF;
  IF forgiven IS NOT NULL THEN
    DELETE FROM sign_in_failures WHERE account = forgiven;
  END IF;
  IF NOT {{remember_browser}}(whose, browser, browser_before, browser_seconds, most_browsers) THEN
    INSERT INTO outbox (channel, name, sub, locale, data)
      SELECT 'mail', mail_name, sub, mail_locale, mail_data FROM users WHERE sub = whose AND email_verified AND email IS NOT NULL;
  END IF;
  PERFORM record_event(jsonb_build_object('type', event_type, 'outcome', event_outcome, 'actor', event_actor, 'client_id', event_client,
    'sub', event_sub, 'address', event_address, 'detail', event_detail));
  IF renewed IS NULL AND most_sessions > 0 THEN
    PERFORM FROM sessions WHERE sub = whose AND id <> made AND idle_expires_at > now() OFFSET most_sessions - 1 LIMIT 1;
    IF FOUND THEN
      WITH ended AS (
        DELETE FROM sessions WHERE id IN (
          SELECT id FROM sessions WHERE sub = whose AND id <> made AND idle_expires_at > now()
           ORDER BY auth_time DESC, id DESC OFFSET most_sessions - 1)
        RETURNING sid)
      SELECT array_agg(sid) INTO gone FROM ended;
      PERFORM record_event(jsonb_build_object('type', 'session.ended', 'outcome', 'success', 'actor', whose, 'sub', whose, 'address', place,
        'detail', jsonb_build_object('session', sid, 'reason', 'limit'))) FROM unnest(gone) AS sid;
    END IF;
  END IF;
  RETURN coalesce(gone, '{}');
END $$;
