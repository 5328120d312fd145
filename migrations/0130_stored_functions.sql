-- Functions that the repositories call.

CREATE FUNCTION sign_in_held_until(failures integer, free integer) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN failures < free THEN '-infinity' ELSE now() + least(900, 60 * 2.0 ^ (failures - free)) * interval '1 second' END
$$;

CREATE FUNCTION count_sign_in_failure(whose_account bytea, whose text, free integer, of_second_factor boolean, most integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  counted integer;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO sign_in_failures AS f (account, sub, failures, held_until, expires_at, second_factor)
    VALUES (whose_account, whose, 1, sign_in_held_until(1, free),
            CASE WHEN whose IS NULL THEN now() + interval '1 hour' ELSE 'infinity' END, of_second_factor)
    ON CONFLICT (account) DO UPDATE SET
      failures = f.failures + 1, held_until = sign_in_held_until(f.failures + 1, free), expires_at = excluded.expires_at
      WHERE f.held_until <= now() AND f.failures < most
    RETURNING failures INTO counted;
  RETURN counted;
END $$;

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

CREATE FUNCTION sign_in(
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
    -- one that is being set up holds this row, and is seen once it is there
    PERFORM FROM users WHERE sub = whose FOR NO KEY UPDATE;
    -- of whatever kind (security R127)
    IF EXISTS (SELECT FROM second_factors WHERE sub = whose) THEN
      RETURN NULL;
    END IF;
  END IF;
  made := store_session(new_token, new_sid, whose, shown_password, methods, idle_seconds, seconds, agent, place, shown_at, renewed);
  IF made IS NULL THEN
    RETURN NULL;
  END IF;
  IF forgiven IS NOT NULL THEN
    DELETE FROM sign_in_failures WHERE account = forgiven;
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

CREATE FUNCTION add_to_grant(whose text, of_client text, more_scope text[], to_redirect_uri text, more_claims text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO grants AS g (sub, client_id, scope, redirect_uris, claims)
    VALUES (whose, of_client, more_scope, ARRAY[to_redirect_uri], more_claims)
    ON CONFLICT (sub, client_id) DO UPDATE SET
      scope = united(g.scope, excluded.scope), claims = united(g.claims, excluded.claims),
      redirect_uris = united(g.redirect_uris, excluded.redirect_uris), updated_at = now();
END $$;

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

CREATE FUNCTION network_is_full(of_network text, most integer, but bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  waiting integer;
BEGIN
  IF most <= 0 OR of_network IS NULL THEN
    RETURN false;
  END IF;
  PERFORM pg_advisory_xact_lock(50, hashtext(of_network));
  SELECT count(*) INTO waiting
    FROM (SELECT FROM authorization_requests
           WHERE network = of_network AND expires_at > now() AND id_hash <> but LIMIT most) AS pending;
  RETURN waiting >= most;
END $$;

CREATE FUNCTION store_request_of_network(
  new_id bytea, browser bytea, of_client text, at_endpoint text, given jsonb, wrong jsonb, seconds double precision, others integer,
  from_network text, network_most integer
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF network_is_full(from_network, network_most, new_id) THEN
    RETURN false;
  END IF;
  PERFORM FROM authorization_requests WHERE browser_hash = browser OFFSET others LIMIT 1;
  IF FOUND THEN
    DELETE FROM authorization_requests WHERE id_hash IN (
      SELECT id_hash FROM authorization_requests WHERE id_hash IN (
        SELECT id_hash FROM authorization_requests WHERE browser_hash = browser ORDER BY created_at DESC OFFSET others)
      FOR UPDATE SKIP LOCKED);
  END IF;
  INSERT INTO authorization_requests (id_hash, browser_hash, client_id, endpoint, parameters, problem, expires_at, network)
    VALUES (new_id, browser, of_client, at_endpoint, given, wrong, now() + make_interval(secs => seconds), from_network);
  RETURN true;
END $$;

CREATE FUNCTION push_request(
  new_id bytea, of_client text, given jsonb, seconds double precision, others integer, from_network text, network_most integer
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF network_is_full(from_network, network_most, new_id) THEN
    RETURN false;
  END IF;
  DELETE FROM authorization_requests WHERE id_hash IN (
    SELECT id_hash FROM authorization_requests WHERE id_hash IN (
      SELECT id_hash FROM authorization_requests WHERE client_id = of_client AND browser_hash IS NULL
       ORDER BY created_at DESC OFFSET others) FOR UPDATE SKIP LOCKED);
  INSERT INTO authorization_requests (id_hash, client_id, endpoint, parameters, expires_at, network)
    VALUES (new_id, of_client, 'authorization', given, now() + make_interval(secs => seconds), from_network);
  RETURN true;
END $$;

CREATE FUNCTION take_request(
  presented bytea, of_client text, browser bytea, seconds double precision, others integer, only_silent boolean, from_network text,
  network_most integer
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  pushed record;
BEGIN
  SELECT browser_hash, coalesce(parameters ->> 'prompt', '') = 'none' AS silent INTO pushed FROM authorization_requests
   WHERE id_hash = presented AND client_id = of_client AND coalesce(browser_hash, browser) = browser AND expires_at > now()
     AND (NOT only_silent OR parameters ->> 'prompt' = 'none');
  IF NOT FOUND THEN
    RETURN NULL;
  ELSIF pushed.browser_hash IS NOT NULL THEN
    RETURN 'taken';
  ELSIF NOT pushed.silent AND network_is_full(from_network, network_most, presented) THEN
    RETURN 'full';
  END IF;
  DELETE FROM authorization_requests WHERE id_hash IN (
    SELECT id_hash FROM authorization_requests WHERE id_hash IN (
      SELECT id_hash FROM authorization_requests WHERE browser_hash = browser AND id_hash <> presented
       ORDER BY created_at DESC OFFSET others) FOR UPDATE SKIP LOCKED);
  UPDATE authorization_requests SET browser_hash = browser, created_at = date_trunc('milliseconds', now()),
         expires_at = now() + make_interval(secs => seconds), network = from_network
   WHERE id_hash = presented AND browser_hash IS NULL AND expires_at > now();
  IF FOUND THEN
    RETURN 'taken';
  END IF;
  -- another tab came first: of the same browser, or not
  PERFORM FROM authorization_requests WHERE id_hash = presented AND browser_hash = browser;
  RETURN CASE WHEN FOUND THEN 'taken' END;
END $$;

CREATE FUNCTION keep_newest_codes(of_session bigint, of_client text, listed bytea[], others integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  newest bytea := listed[cardinality(listed)];
  live bytea[];
  surplus integer;
BEGIN
  SELECT coalesce(array_agg(ac.code_hash ORDER BY array_position(listed, ac.code_hash)), '{}') INTO live
    FROM authorization_codes ac
   WHERE ac.code_hash = ANY (listed) AND ac.code_hash <> newest
     AND ac.redeemed_at IS NULL AND ac.activated_at IS NULL AND ac.expires_at > now();
  surplus := greatest(cardinality(live) - others, 0);
  IF surplus > 0 THEN
    DELETE FROM authorization_codes
     WHERE code_hash = ANY (live[: surplus]) AND redeemed_at IS NULL AND activated_at IS NULL;
  END IF;
  UPDATE session_clients SET codes = live[surplus + 1 :] || newest WHERE session_id = of_session AND client_id = of_client;
END $$;

CREATE FUNCTION issue_code(
  new_code bytea, of_session bigint, of_client text, version_seen integer, granted text[], offline_access boolean, given_nonce text,
  to_redirect_uri text, challenge text, code_seconds double precision, others integer, for_audience text[], new_access_token bytea,
  access_seconds double precision, kept_seconds double precision, claims_requested jsonb, claims_granted text[], by_subject text,
  per_minute integer, of_request bytea
) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
  good record;
  of_family bigint;
  listed bytea[];
BEGIN
  IF of_request IS NOT NULL THEN
    PERFORM FROM authorization_requests WHERE id_hash = of_request FOR UPDATE;
    IF NOT FOUND THEN
      RETURN NULL;
    END IF;
  END IF;
  SELECT s.sid, s.sub, c.epoch, s.auth_time, s.amr, s.codes_at INTO good
    FROM sessions s, users u, clients c, grants g
   WHERE s.id = of_session AND s.idle_expires_at > now()
     AND u.sub = s.sub AND u.status = 'enabled'
     AND c.client_id = of_client AND c.status = 'enabled' AND c.version = version_seen
     AND g.sub = s.sub AND g.client_id = c.client_id AND g.scope @> granted AND g.claims @> claims_granted
     FOR NO KEY UPDATE OF s FOR KEY SHARE OF g;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF per_minute > 0 THEN
    IF good.codes_at[cardinality(good.codes_at) - per_minute + 1] > clock_timestamp() - interval '1 minute' THEN
      RETURN NULL;
    END IF;
    UPDATE sessions SET codes_at = good.codes_at[cardinality(good.codes_at) - per_minute + 2 :] || clock_timestamp() WHERE id = of_session;
  END IF;
  INSERT INTO client_sessions
    (session_id, sid, sub, client_id, client_epoch, scope, offline, auth_time, amr, nonce, audience, requested, subject, expires_at)
    VALUES (of_session, good.sid, good.sub, of_client, good.epoch, array_to_string(granted, ' '), offline_access, good.auth_time, good.amr,
            given_nonce, for_audience, claims_requested, by_subject, now() + make_interval(secs => kept_seconds))
    RETURNING id INTO of_family;
  INSERT INTO session_clients AS sc (session_id, client_id, subject, codes)
    VALUES (of_session, of_client, by_subject, array_remove(ARRAY[new_code], NULL))
    ON CONFLICT (session_id, client_id) DO UPDATE SET subject = excluded.subject, codes = sc.codes || excluded.codes
    RETURNING codes INTO listed;
  IF new_code IS NOT NULL THEN
    INSERT INTO authorization_codes (code_hash, client_session_id, redirect_uri, code_challenge, expires_at)
      VALUES (new_code, of_family, to_redirect_uri, challenge, now() + make_interval(secs => code_seconds));
    IF cardinality(listed) > others + 1 THEN
      PERFORM keep_newest_codes(of_session, of_client, listed, others);
    END IF;
  END IF;
  IF new_access_token IS NOT NULL THEN
    INSERT INTO access_tokens (token_hash, client_session_id, expires_at)
      VALUES (new_access_token, of_family, now() + make_interval(secs => access_seconds));
  END IF;
  IF of_request IS NOT NULL THEN
    DELETE FROM authorization_requests WHERE id_hash = of_request;
  END IF;
  RETURN now();
END $$;

CREATE TYPE token_answer AS (
  failure text, client_session_id bigint, client_id text, sub text, sid text, subject text, scope text, auth_time timestamptz, amr text[],
  nonce text, requested jsonb, issued_at timestamptz, burned boolean, rotated boolean
);

CREATE FUNCTION redeem_code(
  presented bytea, by_client text, for_redirect_uri text, verified_challenge text, new_access_token bytea, new_refresh_token bytea,
  access_seconds double precision, refresh_seconds double precision, family_seconds double precision, new_handle bytea, for_resource text
) RETURNS token_answer LANGUAGE plpgsql AS $$
DECLARE
  answer token_answer;
  code record;
  family record;
  uses integer;
  used_at timestamptz;
  wrong smallint;
  family_until timestamptz;
  needed_until timestamptz;
BEGIN
  SELECT ac.client_session_id, ac.expires_at, ac.redirect_uri, ac.code_challenge INTO code FROM authorization_codes ac
   WHERE ac.code_hash = presented;
  SELECT cs.* INTO family FROM client_sessions cs WHERE cs.id = code.client_session_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  answer.client_session_id := family.id;
  answer.client_id := family.client_id;
  answer.sub := family.sub;
  SELECT s.expires_at INTO family_until
    FROM sessions s, users u, clients c, grants g
   WHERE s.id = family.session_id AND s.idle_expires_at > now() AND u.sub = family.sub AND u.status = 'enabled'
     AND c.client_id = family.client_id AND c.status = 'enabled' AND c.epoch = family.client_epoch
     AND g.sub = family.sub AND g.client_id = family.client_id;
  answer.failure := CASE
    WHEN NOT FOUND THEN 'ended'
    WHEN code.expires_at <= now() THEN 'expired'
    WHEN family.client_id <> by_client THEN 'client'
    WHEN for_redirect_uri IS NULL OR code.redirect_uri <> for_redirect_uri THEN 'redirect_uri'
    WHEN code.code_challenge IS NOT NULL AND verified_challenge IS NULL THEN 'pkce_missing'
    WHEN code.code_challenge IS NULL AND verified_challenge IS NOT NULL THEN 'pkce_unexpected'
    WHEN code.code_challenge <> verified_challenge THEN 'pkce'
    WHEN for_resource IS NOT NULL AND NOT coalesce(for_resource = ANY (family.audience), false) THEN 'resource' END;
  UPDATE authorization_codes ac SET
         redemptions = ac.redemptions + CASE WHEN ac.redeemed_at IS NOT NULL OR answer.failure IS NULL THEN 1 ELSE 0 END,
         redeemed_at = CASE WHEN ac.redeemed_at IS NULL AND answer.failure IS NULL THEN clock_timestamp() ELSE ac.redeemed_at END,
         failures = ac.failures + CASE WHEN ac.redeemed_at IS NULL
                      AND answer.failure IN ('client', 'redirect_uri', 'pkce_missing', 'pkce_unexpected', 'pkce') THEN 1 ELSE 0 END
   WHERE ac.code_hash = presented
  RETURNING ac.redemptions, ac.redeemed_at, ac.failures INTO uses, used_at, wrong;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  answer.burned := wrong >= 5;
  IF uses = 1 AND answer.failure IS NULL THEN
    answer.sid := family.sid;
    answer.subject := coalesce(family.subject, family.sub);
    answer.scope := family.scope;
    answer.auth_time := family.auth_time;
    answer.amr := family.amr;
    answer.nonce := family.nonce;
    answer.requested := family.requested;
    answer.issued_at := now();
    needed_until := now() + make_interval(secs => access_seconds);
    INSERT INTO access_tokens (token_hash, client_session_id, expires_at) VALUES (new_access_token, family.id, needed_until);
    IF new_handle IS NOT NULL THEN
      needed_until := greatest(needed_until, family_until);
      INSERT INTO client_session_handles (handle_hash, client_session_id) VALUES (new_handle, family.id);
    END IF;
    IF new_refresh_token IS NOT NULL THEN
      IF family.offline THEN
        family_until := family.created_at + make_interval(secs => family_seconds);
      END IF;
      needed_until := greatest(needed_until, family_until);
      INSERT INTO refresh_tokens (token_hash, client_session_id, generation, expires_at)
        VALUES (new_refresh_token, family.id, 1, least(now() + make_interval(secs => refresh_seconds), family_until));
    END IF;
    IF needed_until > family.expires_at THEN
      UPDATE client_sessions SET expires_at = needed_until WHERE id = family.id;
    END IF;
    RETURN answer;
  END IF;
  -- a redeemed code came back from another client, or later than a client repeats itself
  IF (uses > 1 OR (uses = 1 AND answer.failure IS NOT NULL))
     AND (family.client_id <> by_client OR clock_timestamp() > used_at + interval '5 seconds') THEN
    answer.failure := 'replayed';
  END IF;
  IF answer.failure = 'replayed' OR answer.burned THEN
    DELETE FROM client_sessions WHERE id = family.id;
  END IF;
  answer.failure := coalesce(answer.failure, 'retried');
  RETURN answer;
END $$;

CREATE FUNCTION use_refresh_token(
  presented bytea, by_client text, asked text[], for_resource text, rotates boolean, new_access_token bytea, new_refresh_token bytea,
  access_seconds double precision, refresh_seconds double precision, family_seconds double precision, grace_seconds double precision,
  grace_uses integer
) RETURNS token_answer LANGUAGE plpgsql AS $$
DECLARE
  answer token_answer;
  spent record;
  family record;
  good record;
  granted text[];
  family_until timestamptz;
  in_force boolean;
  grace_since timestamptz;
  reached bytea := presented;
  above bytea;
  first_used timestamptz;
  in_grace boolean := true;
  kept bytea;
BEGIN
  SELECT rt.client_session_id INTO spent FROM refresh_tokens rt WHERE rt.token_hash = presented;
  SELECT cs.* INTO family FROM client_sessions cs WHERE cs.id = spent.client_session_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  answer.client_session_id := family.id;
  answer.client_id := family.client_id;
  answer.sub := family.sub;
  IF family.client_id <> by_client THEN
    answer.failure := 'client';
    RETURN answer;
  END IF;
  SELECT s.expires_at, string_to_array(c.metadata ->> 'scope', ' ') AS registered, g.scope AS consented INTO good
    FROM users u
    JOIN clients c ON c.client_id = family.client_id AND c.status = 'enabled' AND c.epoch = family.client_epoch
    JOIN grants g ON g.sub = u.sub AND g.client_id = c.client_id
    LEFT JOIN sessions s ON s.id = family.session_id AND s.idle_expires_at > now()
   WHERE u.sub = family.sub AND u.status = 'enabled' AND (family.offline OR s.id IS NOT NULL);
  IF NOT FOUND THEN
    answer.failure := 'ended';
    RETURN answer;
  END IF;
  -- what was granted then, as far as registration and grant still allow it (security R12): mostly the whole
  granted := string_to_array(family.scope, ' ');
  IF (granted <@ good.registered AND granted <@ good.consented) IS NOT TRUE THEN
    granted := ARRAY(SELECT value FROM unnest(granted) WITH ORDINALITY AS each (value, place)
                      WHERE value = ANY (good.registered) AND value = ANY (good.consented) ORDER BY place);
  END IF;
  IF asked IS NOT NULL THEN
    IF NOT asked <@ granted THEN
      answer.failure := 'scope';
      RETURN answer;
    END IF;
    granted := asked;
  END IF;
  IF for_resource IS NOT NULL AND NOT coalesce(for_resource = ANY (family.audience), false) THEN
    answer.failure := 'resource';
    RETURN answer;
  END IF;
  family_until := CASE WHEN family.offline THEN family.created_at + make_interval(secs => family_seconds) ELSE good.expires_at END;
  UPDATE refresh_tokens rt SET
         uses = rt.uses + CASE WHEN rotates OR rt.spent_at IS NOT NULL THEN 1 ELSE 0 END,
         spent_at = CASE WHEN rotates THEN coalesce(rt.spent_at, clock_timestamp()) ELSE rt.spent_at END,
         expires_at = CASE WHEN rotates OR rt.spent_at IS NOT NULL THEN rt.expires_at
                           ELSE least(now() + make_interval(secs => refresh_seconds), family_until) END
   WHERE rt.token_hash = presented AND (rt.spent_at IS NOT NULL OR rt.expires_at > now())
  RETURNING rt.generation, rt.uses, rt.spent_at, rt.parent INTO spent;
  in_force := FOUND;
  IF NOT in_force THEN
    SELECT rt.generation, rt.uses, rt.spent_at, rt.parent INTO spent FROM refresh_tokens rt WHERE rt.token_hash = presented;
  END IF;
  grace_since := clock_timestamp() - make_interval(secs => grace_seconds);
  -- From this token up to the one that all good ones came of; without such a one, to the end of the grace. On the way it finds which one that
  -- is from now on (security R121). A token from before migration 0052 does not know its parent: its first use keeps its own line.
  IF family.line IS NOT NULL OR spent.uses > 1 OR (spent.parent IS NULL AND spent.generation > 1) THEN
    kept := presented;
    above := spent.parent;
    WHILE reached IS DISTINCT FROM family.line AND above IS NOT NULL AND (in_grace OR family.line IS NOT NULL) LOOP
      reached := above;
      SELECT rt.parent, rt.spent_at INTO above, first_used FROM refresh_tokens rt WHERE rt.token_hash = reached;
      in_grace := in_grace AND first_used >= grace_since;
      IF in_grace THEN
        kept := reached;
      END IF;
    END LOOP;
  END IF;
  IF reached <> family.line OR (spent.uses > 1 AND spent.spent_at < grace_since) THEN
    DELETE FROM client_sessions WHERE id = family.id;
    answer.failure := 'reused';
    RETURN answer;
  END IF;
  IF NOT in_force THEN
    answer.failure := 'expired';
    RETURN answer;
  END IF;
  IF spent.uses > grace_uses + 1 THEN
    answer.failure := 'grace';
    RETURN answer;
  END IF;
  IF kept IS NOT NULL AND kept IS DISTINCT FROM family.line THEN
    UPDATE client_sessions SET line = kept WHERE id = family.id;
  END IF;
  answer.sid := family.sid;
  answer.subject := coalesce(family.subject, family.sub);
  answer.scope := array_to_string(granted, ' ');
  answer.auth_time := family.auth_time;
  answer.amr := family.amr;
  answer.nonce := family.nonce;
  answer.requested := family.requested;
  answer.issued_at := now();
  answer.rotated := spent.uses >= 1;
  INSERT INTO access_tokens (token_hash, client_session_id, scope, expires_at)
    VALUES (new_access_token, family.id, answer.scope, now() + make_interval(secs => access_seconds));
  IF answer.rotated THEN
    INSERT INTO refresh_tokens (token_hash, client_session_id, generation, expires_at, parent)
      VALUES (new_refresh_token, family.id, spent.generation + 1, least(now() + make_interval(secs => refresh_seconds), family_until),
              presented);
  END IF;
  RETURN answer;
END $$;
