-- What issues and redeems codes and refreshes, each in one call: a function of small steps, which PostgreSQL keeps planned and of which it
-- starts only those that have something to do. One statement with a WITH for each step set up all of them each time.
--
-- Each is called in a statement of its own and so is all or nothing. Its steps see what others committed while it waited for a row.

-- Issues a response to an authorization request: the stored request first, so that of two answers to it one counts; then the session's
-- row, as whoever ends it does: responses of one session are issued one after another, each of which counts those before it (security
-- R19), and with it the grant, whose withdrawal waits and ends what is issued here, or has happened. Past the limit nothing happens. It
-- returns the time, and NULL where nothing was issued.
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

-- What a redemption or a refresh came to: `failure` is NULL where tokens were issued.
CREATE TYPE token_answer AS (
  failure text, client_session_id bigint, client_id text, sub text, sid text, subject text, scope text, auth_time timestamptz, amr text[],
  nonce text, requested jsonb, issued_at timestamptz, burned boolean, rotated boolean
);

-- Redeems a code, exactly once: the family's row is locked first (as refresh, revocation and logout do), then the code is claimed by an
-- update that sees what the one before did (security R14, R15, R16, R17, R22, R35). It returns NULL for a code that is unknown.
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

-- Uses a refresh token: the family's row is locked first, then being spent is stored and counted, and what follows (a successor, a
-- refusal, the family's end) hangs on that count (security R31, R32, R33, R34, R35, R36). `asked` is a narrower scope, or NULL for the
-- whole. A spent token may come back a few times within the grace. It returns NULL for a token that is unknown.
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
  RETURNING rt.generation, rt.uses, rt.spent_at INTO spent;
  IF NOT FOUND THEN
    answer.failure := 'expired';
    RETURN answer;
  END IF;
  IF spent.uses > 1 THEN
    IF clock_timestamp() > spent.spent_at + make_interval(secs => grace_seconds) THEN
      DELETE FROM client_sessions WHERE id = family.id;
      answer.failure := 'reused';
      RETURN answer;
    ELSIF spent.uses > grace_uses + 1 THEN
      answer.failure := 'grace';
      RETURN answer;
    END IF;
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
    INSERT INTO refresh_tokens (token_hash, client_session_id, generation, expires_at)
      VALUES (new_refresh_token, family.id, spent.generation + 1, least(now() + make_interval(secs => refresh_seconds), family_until));
  END IF;
  RETURN answer;
END $$;
