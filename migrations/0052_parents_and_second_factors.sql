-- All second factors of people, whatever their kind: the table of each kind inherits from this one, which has no rows of its own. What asks
-- whether a person has a second factor asks here, so that a new kind is asked for with its table alone (security R127):
--   CREATE TABLE names_of_kind (… what is its own …) INHERITS (second_factors);
CREATE TABLE second_factors (
  id text NOT NULL,
  sub text NOT NULL,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  used_at timestamptz,
  CHECK (false) NO INHERIT
);
ALTER TABLE authenticators INHERIT second_factors;
ALTER TABLE passkeys INHERIT second_factors;

-- As in migration 0046, for second factors of every kind. The form without `forgiven`, which instances of the versions before call, calls it.
CREATE OR REPLACE FUNCTION sign_in(
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

-- The refresh token that this one was issued for; null for the first of an authorization, and for those from before this migration. It has a
-- migration of its own, apart from 0056: a refresh uses both tables, and each is locked for the moment of its own change only.
ALTER TABLE refresh_tokens ADD COLUMN parent bytea;
