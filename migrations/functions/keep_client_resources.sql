-- Makes the rows of a client that holds its resources, and deletes those that it gives up. A row that an administrator changed stays.
CREATE OR REPLACE FUNCTION keep_client_resources(client clients) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM resources r WHERE r.client_id = client.client_id AND r.registered
    AND NOT EXISTS (SELECT FROM claimed_resources(client.metadata) AS claimed WHERE claimed.key = resource_key(r.resource));
  IF NOT holds_resources(client) THEN
    RETURN;
  END IF;
  -- every enabled client may name it, as before resources had scopes; the row of a client that no longer holds it changes hands
  INSERT INTO resources AS r (resource, name, client_id, registered, clients)
    SELECT uri, left(coalesce(client.metadata ->> 'client_name', client.client_id), 100), client.client_id, true, 'approved'
      FROM claimed_resources(client.metadata)
    ON CONFLICT (resource_key(resource)) DO UPDATE SET
      -- with a new id, for which no user has granted anything
      id = excluded.id, resource = excluded.resource, name = excluded.name, client_id = excluded.client_id
      WHERE r.registered AND r.client_id <> excluded.client_id
        AND NOT EXISTS (SELECT FROM clients c WHERE c.client_id = r.client_id AND holds_resources(c));
END $$;
