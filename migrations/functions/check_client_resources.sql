-- Refuses to enable or approve a client that claims a resource which it cannot have. A registration may claim any resource; it is checked when it
-- is approved.
CREATE OR REPLACE FUNCTION check_client_resources(client clients, before clients) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  claimed text[] := ARRAY(SELECT key FROM claimed_resources(client.metadata));
  held record;
BEGIN
  IF claimed = '{}' OR NOT holds_resources(client) THEN
    RETURN;
  END IF;
  IF before IS NULL THEN
    -- a registration that needs no approval is never refused: the earlier client stays the server of the resource
    IF client.self_registered THEN
      RETURN;
    END IF;
  ELSIF holds_resources(before) THEN
    -- the client keeps the resources that it holds already
    claimed := ARRAY(SELECT unnest(claimed) EXCEPT SELECT key FROM claimed_resources(before.metadata));
    IF claimed = '{}' THEN
      RETURN;
    END IF;
  END IF;
  -- makes two approvals at the same time see each other; the number is arbitrary
  PERFORM pg_advisory_xact_lock(7106345);
  SELECT * INTO held FROM held_resources(client.client_id, claimed) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'clients_resource_uris', MESSAGE = CASE
      WHEN held.client_id IS NULL THEN format('resource_uris: %s is a resource that an administrator created: delete it first, or refuse this claim', held.resource)
      ELSE format('resource_uris: the client %s holds %s: disable that client first, or refuse this claim', held.client_id, held.resource) END;
  END IF;
END $$;
