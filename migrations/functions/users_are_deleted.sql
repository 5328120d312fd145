-- Notes the groups that deleted users leave. Their accounts at provisioning targets follow; what was written there about them is forgotten at once.
CREATE OR REPLACE FUNCTION users_are_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM note_group_changes(array_agg(name), array_agg(n)) FROM (
    SELECT name, -count(DISTINCT sub) FROM before, unnest(groups) AS name GROUP BY name) AS c (name, n);
  IF EXISTS (SELECT FROM provisioning_targets) THEN
    PERFORM note_provisioning(array_agg(sub)) FROM before;
    UPDATE provisioned_users p SET written = NULL FROM before b WHERE p.sub = b.sub AND p.written IS NOT NULL;
  END IF;
  RETURN NULL;
END $$;
