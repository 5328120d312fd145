-- Names the members that differ between two rows, as clients and administrators know them; never a value, since some are secrets.
CREATE OR REPLACE FUNCTION changed_members(before jsonb, after jsonb) RETURNS jsonb LANGUAGE sql AS $$
  WITH flat AS (
    SELECT before - 'metadata' - 'claims' || coalesce(before -> 'metadata', before -> 'claims') AS before,
           after - 'metadata' - 'claims' || coalesce(after -> 'metadata', after -> 'claims') AS after)
  SELECT jsonb_build_object('members', jsonb_agg(name ORDER BY name COLLATE "C")) FROM (
    SELECT DISTINCT CASE key WHEN 'pending_metadata' THEN 'pending_changes' ELSE regexp_replace(key, '_(hash|encrypted)$', '') END
      FROM flat, jsonb_object_keys(flat.before || flat.after) AS key
     WHERE flat.before -> key IS DISTINCT FROM flat.after -> key
       -- without what follows from other members, and what the type of the event says
       AND key <> ALL (ARRAY['version', 'epoch', 'updated_at', 'approved_by', 'refused_at', 'refusal_reason', 'uncollected', 'ever_enabled', 'secret_since',
                             'client_secret_encrypted'])
       AND (key <> 'status' OR flat.after ? 'sub')) AS changed (name)
  HAVING count(*) > 0
$$;
