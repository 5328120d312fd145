-- Stores a user's decision on the consent page with its event, and the grant if the user allowed it. Returns false, and stores nothing, if the same
-- user decided before or the request is gone.
CREATE FUNCTION {{decide_request}}(
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
    PERFORM {{add_to_grant}}(whose, of_client, asked_scope, to_redirect_uri, asked_claims);
  END IF;
  PERFORM record_event(jsonb_build_object('type', event_type, 'outcome', event_outcome, 'actor', event_actor, 'client_id', event_client,
    'sub', event_sub, 'address', event_address, 'detail', event_detail));
  RETURN true;
END $$;
