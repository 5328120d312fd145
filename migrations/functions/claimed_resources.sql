-- Lists the URIs that a client registers as a resource server. They become rows when the client is enabled, and not before: a registration tells
-- nobody which resources exist.
CREATE OR REPLACE FUNCTION claimed_resources(metadata jsonb) RETURNS TABLE (uri text, key text) LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
  SELECT DISTINCT ON (resource_key(claimed)) claimed, resource_key(claimed)
    FROM jsonb_array_elements_text(coalesce(metadata -> 'resource_uris', '[]')) AS claimed
   ORDER BY resource_key(claimed);
END;
