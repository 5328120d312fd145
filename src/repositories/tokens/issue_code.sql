-- Issues an authorization response. It locks the stored request first, so that only one of two answers to it counts. Then it locks the session's row, as
-- the end of the session does: responses of one session are issued one after another, and each counts the earlier ones (security R19). It also locks the
-- grant: a withdrawal either waits and ends what is issued here, or was earlier. Returns the time, or NULL if nothing was issued.
CREATE FUNCTION {{issue_code}}(
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
      PERFORM {{keep_newest_codes}}(of_session, of_client, listed, others);
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
