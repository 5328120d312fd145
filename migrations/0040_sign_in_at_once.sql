-- A sign-in is one statement; what is counted for it is a function, whose statements see what others did while the sign-in waited for
-- the user's row: the user's longest unused browsers beyond `browsers` are forgotten, and the oldest live sessions beyond `most` end, where
-- that is not 0. It returns the names by which clients know those sessions; the trail has them then.
CREATE FUNCTION drop_sign_in_surplus(whose text, newest bigint, most integer, browsers integer, place inet) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  gone text[];
BEGIN
  DELETE FROM known_browsers WHERE sub = whose AND token_hash IN (
    SELECT token_hash FROM known_browsers WHERE sub = whose ORDER BY used_at DESC, token_hash OFFSET browsers);
  IF most > 0 THEN
    WITH ended AS (
      DELETE FROM sessions WHERE id IN (
        SELECT id FROM sessions WHERE sub = whose AND id <> newest AND idle_expires_at > now()
         ORDER BY auth_time DESC, id DESC OFFSET most - 1)
      RETURNING sid),
    told AS (
      INSERT INTO audit_events (type, outcome, actor, sub, address, detail)
      SELECT 'session.ended', 'success', whose, whose, place, jsonb_build_object('session', sid, 'reason', 'limit') FROM ended)
    SELECT array_agg(sid) INTO gone FROM ended;
  END IF;
  RETURN coalesce(gone, '{}');
END $$;

-- Whoever sends mail is woken by a mail, and not by each statement that might have ordered one: who notifies waits for all who notify when
-- it commits. Of one transaction the same word goes out once.
DROP TRIGGER mails_effects ON mails;
CREATE TRIGGER mails_effects AFTER INSERT ON mails FOR EACH ROW EXECUTE FUNCTION mail_effects();
