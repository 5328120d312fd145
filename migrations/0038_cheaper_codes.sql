-- A code flow costs the same, however many of them a session has behind it, and writes fewer rows.

-- The codes of a session and a client that may be live and unredeemed, the oldest first: so those beyond the limit are found without
-- a look at all that the session ever got.
ALTER TABLE session_clients ADD COLUMN codes bytea[] NOT NULL DEFAULT '{}';

-- Called when more are listed than may live: forgets those that are redeemed or over, and of the others deletes the oldest. The last of
-- the list is the one that is issued just now. Whoever calls this holds the session's row, so codes are issued one after another; and a
-- function of its own sees what was committed while its caller waited for that row. What is used as a client-session handle is as good
-- as redeemed. The function drop_surplus_codes stays for instances of the version before.
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

-- The newest client session of a session and a client is one step away. An operator of many sessions makes it beforehand, concurrently:
-- docs/operator.md
CREATE INDEX IF NOT EXISTS client_sessions_newest_of_session ON client_sessions (session_id, client_id, id);
DROP INDEX client_sessions_session;

-- Rows that are changed once or often after they were made: with room on their page that needs no new entry in any index.
ALTER TABLE sessions SET (fillfactor = 85);
ALTER TABLE session_clients SET (fillfactor = 85);
ALTER TABLE authorization_codes SET (fillfactor = 70);
ALTER TABLE refresh_tokens SET (fillfactor = 70);
ALTER TABLE user_settings SET (fillfactor = 85);

-- The same limits, by a function whose steps are prepared once a connection and not at each write.
CREATE OR REPLACE FUNCTION settings_are_within_limits(settings jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  document text;
  size integer;
BEGIN
  IF jsonb_typeof(settings) <> 'object' THEN
    RETURN false;
  END IF;
  document := settings::text;
  size := octet_length(document);
  IF size > 65536 THEN
    IF size > 131072 THEN
      RETURN false;
    END IF;
    -- the spaces of jsonb's own text, which are not the client's
    IF size - length(regexp_replace(regexp_replace(document, '"(?:[^"\\]|\\.)*"', '', 'g'), '[^ ]', '', 'g')) > 65536 THEN
      RETURN false;
    END IF;
  END IF;
  -- a key and its value take at least six bytes
  IF size < 6 * 256 THEN
    RETURN true;
  END IF;
  RETURN (SELECT count(*) FROM jsonb_object_keys(settings)) <= 256;
END $$;
