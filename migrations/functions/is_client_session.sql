-- Says whether the members of a client session fit: only one with offline_access outlives its session, and the JSON is of the kind that is read.
CREATE OR REPLACE FUNCTION is_client_session(session_id bigint, offline boolean, requested jsonb, resources jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN (session_id IS NOT NULL OR offline) AND (requested IS NULL OR jsonb_typeof(requested) = 'object')
     AND (resources IS NULL OR jsonb_typeof(resources) = 'array');
END $$;
