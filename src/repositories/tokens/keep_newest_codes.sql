-- Deletes the oldest unredeemed codes of a session and client beyond `others`, and removes redeemed and expired ones from the list. Called when more codes
-- are listed than may be live. The last of `listed` is being issued. The caller has locked the session's row, so codes are issued one after another. A code
-- that is used as a client-session handle counts as redeemed.
CREATE FUNCTION {{keep_newest_codes}}(of_session bigint, of_client text, listed bytea[], others integer) RETURNS void LANGUAGE plpgsql AS $$
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
