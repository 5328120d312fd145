-- What signs somebody in and what notes an answer to the question of consent, each in one call: a function of small steps, which PostgreSQL
-- keeps planned and of which it starts only those that have something to do. One statement with a WITH for each step set up all of them
-- each time.
--
-- Each is called in a statement of its own and so is all or nothing. Its steps see what others committed while it waited for a row.

-- The table's rules are read anew by each statement that writes a row. Those of what only the service writes go, where they only said
-- again how it is written: the length of a digest, or the words of its own types.
ALTER TABLE sessions DROP CONSTRAINT sessions_token_hash_check;
ALTER TABLE authorization_requests
  DROP CONSTRAINT authorization_requests_id_hash_check, DROP CONSTRAINT authorization_requests_browser_hash_check,
  DROP CONSTRAINT authorization_requests_endpoint_check, DROP CONSTRAINT authorization_requests_parameters_check,
  DROP CONSTRAINT authorization_requests_problem_check, DROP CONSTRAINT authorization_requests_decision_check;
ALTER TABLE known_browsers DROP CONSTRAINT known_browsers_token_hash_check, DROP CONSTRAINT known_browsers_failures_check;
ALTER TABLE sign_in_failures DROP CONSTRAINT sign_in_failures_account_check, DROP CONSTRAINT sign_in_failures_failures_check;
ALTER TABLE audit_events DROP CONSTRAINT audit_events_type_check, DROP CONSTRAINT audit_events_detail_check;

-- A person has shown the password in a browser, which is called by another token from now on, for everybody who is known in it. Of the
-- person's browsers the `most` used last stay. True when it was known before.
CREATE FUNCTION remember_browser(whose text, new_token bytea, previous bytea, seconds double precision, most integer) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  was_known boolean := false;
BEGIN
  IF previous IS NOT NULL THEN
    DELETE FROM known_browsers WHERE token_hash = previous AND sub = whose RETURNING expires_at > now() INTO was_known;
    UPDATE known_browsers SET token_hash = new_token WHERE token_hash = previous;
  END IF;
  INSERT INTO known_browsers (token_hash, sub, expires_at) VALUES (new_token, whose, now() + make_interval(secs => seconds));
  -- one step, whose plan PostgreSQL keeps
  DELETE FROM known_browsers WHERE sub = whose AND used_at < (
    SELECT used_at FROM known_browsers WHERE sub = whose ORDER BY used_at DESC OFFSET most - 1 LIMIT 1);
  RETURN coalesce(was_known, false);
END $$;

-- Makes a session, or renews the one of the same person, which keeps its name. The user's row comes first, so that sign-ins of one person
-- come one after another, and a change of the password sees what they made or is seen. NULL when the user may not sign in with that.
CREATE FUNCTION store_session(
  new_token bytea, new_sid text, whose text, shown_password text, methods text[], idle_seconds double precision, seconds double precision,
  agent text, place inet, shown_at timestamptz, renewed bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  made bigint;
  idle_end timestamptz := now() + make_interval(secs => least(idle_seconds, seconds));
BEGIN
  PERFORM FROM users WHERE sub = whose AND status = 'enabled' AND (shown_password IS NULL OR password_hash = shown_password)
    FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF renewed IS NULL THEN
    INSERT INTO sessions (token_hash, sid, sub, auth_time, amr, idle_expires_at, expires_at, user_agent, address)
      VALUES (new_token, new_sid, whose, coalesce(shown_at, clock_timestamp()), methods, idle_end, now() + make_interval(secs => seconds),
              agent, place)
      RETURNING id INTO made;
  ELSE
    -- what was shown earlier makes it live no longer
    UPDATE sessions SET token_hash = new_token, auth_time = coalesce(shown_at, clock_timestamp()), amr = methods, used_at = now(),
           idle_expires_at = CASE WHEN shown_at IS NULL THEN idle_end ELSE least(idle_end, expires_at) END,
           expires_at = CASE WHEN shown_at IS NULL THEN now() + make_interval(secs => seconds) ELSE expires_at END,
           user_agent = agent, address = place
     WHERE id = renewed AND sub = whose
    RETURNING id INTO made;
  END IF;
  RETURN made;
END $$;

-- Signs in: the session, the browser that is known from now on, the notice to whoever was not known in it, and the event. Beyond
-- `most_sessions`, where that is not 0, the oldest live sessions end, of which the trail has the names by which clients know them; it
-- returns those names, and NULL where nobody was signed in.
CREATE FUNCTION sign_in(
  new_token bytea, new_sid text, whose text, shown_password text, methods text[], idle_seconds double precision, seconds double precision,
  agent text, place inet, shown_at timestamptz, renewed bigint, most_sessions integer,
  browser bytea, browser_before bytea, browser_seconds double precision, most_browsers integer,
  mail_name text, mail_locale text, mail_data jsonb,
  event_type text, event_outcome text, event_actor text, event_client text, event_sub text, event_address inet, event_detail jsonb
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  made bigint := store_session(
    new_token, new_sid, whose, shown_password, methods, idle_seconds, seconds, agent, place, shown_at, renewed);
  gone text[];
BEGIN
  IF made IS NULL THEN
    RETURN NULL;
  END IF;
  IF NOT remember_browser(whose, browser, browser_before, browser_seconds, most_browsers) THEN
    INSERT INTO mails (name, sub, locale, data)
      SELECT mail_name, sub, mail_locale, mail_data FROM users WHERE sub = whose AND email_verified AND email IS NOT NULL;
  END IF;
  INSERT INTO audit_events (type, outcome, actor, client_id, sub, address, detail)
    VALUES (event_type, event_outcome, event_actor, event_client, event_sub, event_address, event_detail);
  IF renewed IS NULL AND most_sessions > 0 THEN
    PERFORM FROM sessions WHERE sub = whose AND id <> made AND idle_expires_at > now() OFFSET most_sessions - 1 LIMIT 1;
    IF FOUND THEN
      WITH ended AS (
        DELETE FROM sessions WHERE id IN (
          SELECT id FROM sessions WHERE sub = whose AND id <> made AND idle_expires_at > now()
           ORDER BY auth_time DESC, id DESC OFFSET most_sessions - 1)
        RETURNING sid),
      told AS (
        INSERT INTO audit_events (type, outcome, actor, sub, address, detail)
        SELECT 'session.ended', 'success', whose, whose, place, jsonb_build_object('session', sid, 'reason', 'limit') FROM ended)
      SELECT array_agg(sid) INTO gone FROM ended;
    END IF;
  END IF;
  RETURN coalesce(gone, '{}');
END $$;

CREATE FUNCTION united(had text[], more text[]) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF had @> more THEN
    RETURN had;
  END IF;
  RETURN ARRAY(SELECT DISTINCT unnest(had || more));
END $$;

-- Adds scopes, single claims beside theirs and a redirect URI to what a user has granted to a client.
CREATE FUNCTION add_to_grant(whose text, of_client text, more_scope text[], to_redirect_uri text, more_claims text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO grants AS g (sub, client_id, scope, redirect_uris, claims)
    VALUES (whose, of_client, more_scope, ARRAY[to_redirect_uri], more_claims)
    ON CONFLICT (sub, client_id) DO UPDATE SET
      scope = united(g.scope, excluded.scope), claims = united(g.claims, excluded.claims),
      redirect_uris = united(g.redirect_uris, excluded.redirect_uris), updated_at = now();
END $$;

-- Notes what a user answered to a request, with the grant that this is if it is one, and the event; false, and nothing, where the same
-- user answered it before or it is gone.
CREATE FUNCTION decide_request(
  request bytea, whose text, answer text, of_client text, asked_scope text[], to_redirect_uri text, asked_claims text[],
  event_type text, event_outcome text, event_actor text, event_client text, event_sub text, event_address inet, event_detail jsonb
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE authorization_requests SET decision = answer, decided_sub = whose
   WHERE id_hash = request AND (decision IS NULL OR decided_sub <> whose);
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF answer = 'allowed' THEN
    PERFORM add_to_grant(whose, of_client, asked_scope, to_redirect_uri, asked_claims);
  END IF;
  INSERT INTO audit_events (type, outcome, actor, client_id, sub, address, detail)
    VALUES (event_type, event_outcome, event_actor, event_client, event_sub, event_address, event_detail);
  RETURN true;
END $$;

-- The condition of a trigger, too, is read anew by each statement: here it is read once a connection.
CREATE OR REPLACE FUNCTION audit_event_mail() RETURNS trigger LANGUAGE plpgsql AS $$
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
DROP TRIGGER audit_events_mail ON audit_events;
CREATE TRIGGER audit_events_mail AFTER INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION audit_event_mail();
