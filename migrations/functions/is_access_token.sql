-- Says whether an access token belongs to a client session, or (client credentials) to the client itself at an epoch, and then has a scope of its own. A token
-- of an exchange belongs to both: to the client session of the token that was presented, and to the client that presented it.
CREATE OR REPLACE FUNCTION is_access_token(client_session_id bigint, client_id text, client_epoch integer, scope text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN CASE WHEN client_session_id IS NULL THEN num_nulls(client_id, client_epoch, scope) = 0 ELSE num_nonnulls(client_id, client_epoch) = 0 OR num_nulls(client_id, client_epoch, scope) = 0 END;
END $$;
