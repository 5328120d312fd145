-- Notes the groups that new users join, as memberships by hand, and orders their accounts at provisioning targets.
CREATE OR REPLACE FUNCTION users_are_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM provisioning_targets) THEN
    PERFORM note_provisioning(array_agg(sub)) FROM after;
  END IF;
  IF NOT EXISTS (SELECT FROM after WHERE groups <> '{}') THEN
    RETURN NULL;
  END IF;
  PERFORM note_group_changes(array_agg(name), array_agg(n)) FROM (
    SELECT name, count(DISTINCT sub) FROM after, unnest(groups) AS name GROUP BY name) AS c (name, n);
  INSERT INTO group_memberships (sub, group_name, source)
    SELECT DISTINCT sub, name, 'manual' FROM after, unnest(groups) AS name ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
