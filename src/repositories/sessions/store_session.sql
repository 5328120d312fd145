-- Stores a session, or renews one of the same user, which keeps its sid. It locks the user's row first, which serializes the user's sign-ins and
-- changes of the password and of second factors: each sees what the earlier ones stored. `refusal` is NULL if the session was stored.
--   expected: sub, password_hash (null without a password), session (the id of the one to renew, or null), connection (null without one),
--     spared_by (null, or the token of the browser that may spare a second factor, in hex) and guarded (the groups whose members are never spared one)
--   issue: token_hash (hex), form_hash (of the form that signed in, hex, or null), sid, amr, auth_time (null for now), idle_seconds, lifetime_seconds, remembered (without an idle end), user_agent, address, connection and upstream (absent to keep those of a renewed one)
CREATE FUNCTION {{store_session}}(expected jsonb, issue jsonb, OUT refusal text, OUT session_id bigint) LANGUAGE plpgsql AS $$
DECLARE
  user_sub text := expected ->> 'sub';
  renewed_id bigint := (expected ->> 'session')::bigint;
  token bytea := decode(issue ->> 'token_hash', 'hex');
  form bytea := decode(issue ->> 'form_hash', 'hex');
  methods text[] := ARRAY(SELECT jsonb_array_elements_text(issue -> 'amr'));
  authenticated_at timestamptz := (issue ->> 'auth_time')::timestamptz;
  absolute_end timestamptz := now() + make_interval(secs => (issue -> 'lifetime_seconds')::double precision);
  idle_end timestamptz := least(absolute_end, now() + make_interval(secs => (issue -> 'idle_seconds')::double precision));
  -- null without a sign-in by a connection, which has ended now
  upstream_session jsonb := nullif(issue -> 'upstream', 'null') || jsonb_build_object('at', clock_timestamp());
  is_remembered boolean := coalesce((issue -> 'remembered')::boolean, false);
  is_spared boolean;
  current_hash text;
BEGIN
  SELECT password_hash INTO current_hash FROM users WHERE sub = user_sub AND status = 'enabled' FOR NO KEY UPDATE;
  is_spared := expected ->> 'spared_by' IS NOT NULL AND EXISTS (
    SELECT FROM known_browsers k JOIN users u ON u.sub = k.sub
     WHERE k.token_hash = decode(expected ->> 'spared_by', 'hex') AND k.sub = user_sub AND k.expires_at > now() AND k.second_factor_until > now()
       AND k.second_factors = ARRAY(SELECT f.id FROM second_factors f WHERE f.sub = user_sub ORDER BY f.id)
       AND NOT u.admin AND NOT u.groups && ARRAY(SELECT jsonb_array_elements_text(expected -> 'guarded')));
  refusal := CASE
    WHEN NOT FOUND THEN 'user'
    WHEN expected ->> 'password_hash' IS NOT NULL AND expected ->> 'password_hash' IS DISTINCT FROM current_hash THEN 'password'
    WHEN expected ->> 'spared_by' IS NOT NULL AND NOT is_spared THEN 'second-factor'
    -- a second factor of any kind (security R127)
    WHEN ('mfa' = ANY (methods)) IS NOT TRUE AND NOT is_spared
         AND EXISTS (SELECT FROM second_factors WHERE sub = user_sub) THEN 'second-factor' END;
  IF refusal IS NULL AND expected ->> 'connection' IS NOT NULL THEN
    -- a connection that is disabled meanwhile, or a link that is removed, signs no user in (federation FR5)
    PERFORM FROM connections c JOIN linked_identities l ON l.connection_id = c.id
      WHERE c.id = expected ->> 'connection' AND c.status = 'enabled' AND l.sub = user_sub FOR SHARE OF c, l;
    IF NOT FOUND THEN
      refusal := 'connection';
    END IF;
  END IF;
  IF refusal IS NOT NULL THEN
    RETURN;
  END IF;
  IF renewed_id IS NULL THEN
    INSERT INTO sessions (token_hash, sid, sub, auth_time, amr, idle_expires_at, expires_at, user_agent, address, connection_id, upstream,
                          form_hash, form_at, remembered, second_factor_spared)
      VALUES (token, issue ->> 'sid', user_sub, coalesce(authenticated_at, clock_timestamp()), methods, idle_end, absolute_end,
              issue ->> 'user_agent', (issue ->> 'address')::inet, issue ->> 'connection', upstream_session,
              form, clock_timestamp(), is_remembered, is_spared)
      RETURNING id INTO session_id;
    RETURN;
  END IF;
  -- a password that was checked earlier does not extend the session
  UPDATE sessions SET token_hash = token, form_hash = form, form_at = clock_timestamp(), auth_time = coalesce(authenticated_at, clock_timestamp()), amr = methods, used_at = now(),
         remembered = is_remembered, second_factor_spared = is_spared,
         idle_expires_at = CASE WHEN authenticated_at IS NULL THEN idle_end ELSE least(idle_end, expires_at) END,
         expires_at = CASE WHEN authenticated_at IS NULL THEN absolute_end ELSE least(expires_at, absolute_end) END,
         user_agent = issue ->> 'user_agent', address = (issue ->> 'address')::inet,
         connection_id = CASE WHEN issue ? 'connection' THEN issue ->> 'connection' ELSE connection_id END,
         upstream = CASE WHEN issue ? 'connection' THEN upstream_session ELSE upstream END
   WHERE id = renewed_id AND sub = user_sub
  RETURNING id INTO session_id;
  IF NOT FOUND THEN
    refusal := 'session';
  END IF;
END $$;
