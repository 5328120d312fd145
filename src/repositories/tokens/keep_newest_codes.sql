-- Deletes the oldest unredeemed codes of a session and client beyond `max_codes`, and removes redeemed and expired ones from the list. Called when more
-- codes are listed than may be live. The last of `listed_codes` is being issued. The caller has locked the session's row, so codes are issued one after
-- another. A code that is used as a client-session handle counts as redeemed.
CREATE FUNCTION {{keep_newest_codes}}(issuing_session bigint, issuing_client text, listed_codes bytea[], max_codes integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  newest_code bytea := listed_codes[cardinality(listed_codes)];
  live_codes bytea[];
  surplus integer;
BEGIN
  SELECT coalesce(array_agg(ac.code_hash ORDER BY array_position(listed_codes, ac.code_hash)), '{}') INTO live_codes
    FROM authorization_codes ac
   WHERE ac.code_hash = ANY (listed_codes) AND ac.code_hash <> newest_code
     AND ac.redeemed_at IS NULL AND ac.activated_at IS NULL AND ac.expires_at > now();
  surplus := greatest(cardinality(live_codes) + 1 - max_codes, 0);
  IF surplus > 0 THEN
    DELETE FROM authorization_codes
     WHERE code_hash = ANY (live_codes[: surplus]) AND redeemed_at IS NULL AND activated_at IS NULL;
  END IF;
  UPDATE session_clients SET codes = live_codes[surplus + 1 :] || newest_code
   WHERE session_id = issuing_session AND client_id = issuing_client;
END $$;
