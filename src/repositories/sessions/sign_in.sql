-- Signs a user in: the session, the device cookie, the mail about a new browser, and the event. The oldest live sessions beyond `max_sessions` end,
-- unless that is 0. `refusal` is NULL if the user is signed in, and `ended_sids` names the sessions that ended. A test compares it with
-- decideSignIn() in src/rules/access/sign-in-decision.ts.
--   expected: as for store_session, and max_sessions
--   issue: session (as for store_session), browser (token_hash, previous_token_hash in hex, lifetime_seconds, max_browsers,
--     second_factor_seconds for which it spares a second factor, or null), mail, event (each as its
--     row), reset_failures (the account whose failures are deleted in hex, or null)
CREATE FUNCTION {{sign_in}}(expected jsonb, issue jsonb, OUT refusal text, OUT ended_sids text[]) LANGUAGE plpgsql AS $$
DECLARE
  user_sub text := expected ->> 'sub';
  max_sessions integer := (expected -> 'max_sessions')::integer;
  browser jsonb := issue -> 'browser';
  mail jsonb := issue -> 'mail';
  event jsonb := issue -> 'event';
  new_session_id bigint;
BEGIN
  SELECT stored.refusal, stored.session_id INTO refusal, new_session_id FROM {{store_session}}(expected, issue -> 'session') AS stored;
  IF refusal IS NOT NULL THEN
    RETURN;
  END IF;
  IF issue ->> 'reset_failures' IS NOT NULL THEN
    DELETE FROM sign_in_failures WHERE account = decode(issue ->> 'reset_failures', 'hex');
  END IF;
  IF NOT {{remember_browser}}(user_sub, decode(browser ->> 'token_hash', 'hex'), decode(browser ->> 'previous_token_hash', 'hex'),
                              (browser -> 'lifetime_seconds')::double precision, (browser -> 'max_browsers')::integer,
                              (browser ->> 'second_factor_seconds')::double precision, new_session_id) THEN
    INSERT INTO outbox (channel, name, sub, locale, data)
      SELECT 'mail', mail ->> 'name', sub, mail ->> 'locale', mail -> 'data' FROM users WHERE sub = user_sub AND email_verified AND email IS NOT NULL;
  END IF;
  PERFORM record_event(event);
  ended_sids := '{}';
  IF expected ->> 'session' IS NOT NULL OR max_sessions = 0 THEN
    RETURN;
  END IF;
  PERFORM FROM sessions WHERE sub = user_sub AND id <> new_session_id AND idle_expires_at > now() OFFSET max_sessions - 1 LIMIT 1;
  IF FOUND THEN
    WITH ended AS (
      DELETE FROM sessions WHERE id IN (
        SELECT id FROM sessions WHERE sub = user_sub AND id <> new_session_id AND idle_expires_at > now()
         ORDER BY auth_time DESC, id DESC OFFSET max_sessions - 1)
      RETURNING sid)
    SELECT array_agg(sid) INTO ended_sids FROM ended;
    PERFORM record_event(jsonb_build_object('type', 'session.ended', 'outcome', 'success', 'actor', user_sub, 'sub', user_sub,
      'address', issue #>> '{session,address}', 'detail', jsonb_build_object('session', sid, 'reason', 'limit')))
      FROM unnest(ended_sids) AS sid;
  END IF;
END $$;
