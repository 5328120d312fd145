-- Stores the decision of a user about a backchannel authentication request, and queues the ping of its client. An approval needs a sign-in after the request was made,
-- and each sign-in confirms one approval (security R143): the lock of the session puts its approvals in turn. `outcome` is 'decided', 'unconfirmed', or 'gone' if the
-- request no longer waits for this user.
CREATE FUNCTION {{decide_backchannel_request}}(request_id text, of_user text, in_session bigint, new_decision text, OUT outcome text, OUT seconds double precision)
LANGUAGE plpgsql AS $$
DECLARE
  signed_in timestamptz;
  asked backchannel_requests;
BEGIN
  outcome := 'gone';
  SELECT s.auth_time INTO signed_in FROM sessions s WHERE s.id = in_session AND s.sub = of_user AND s.idle_expires_at > now() FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT * INTO asked FROM backchannel_requests b
   WHERE b.id = request_id AND b.sub = of_user AND b.decision IS NULL AND b.expires_at > now() FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF new_decision = 'approved'
     AND (signed_in <= asked.created_at
          OR EXISTS (SELECT FROM backchannel_requests b WHERE b.sub = of_user AND b.confirmed_by = in_session AND b.confirmed_at >= signed_in)) THEN
    outcome := 'unconfirmed';
    RETURN;
  END IF;
  UPDATE backchannel_requests b SET decision = new_decision,
         confirmed_by = CASE WHEN new_decision = 'approved' THEN in_session END, confirmed_at = CASE WHEN new_decision = 'approved' THEN signed_in END
   WHERE b.id = request_id;
  IF asked.notification_encrypted IS NOT NULL THEN
    INSERT INTO outbox (channel, name, client_id, data) VALUES ('ping', 'ping', asked.client_id, jsonb_build_object('request', request_id));
  END IF;
  seconds := extract(epoch FROM asked.expires_at - now());
  outcome := 'decided';
END $$;
