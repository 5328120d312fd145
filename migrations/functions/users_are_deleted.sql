-- Notes the groups that deleted users leave.
CREATE OR REPLACE FUNCTION users_are_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM note_group_changes(array_agg(name), array_agg(n)) FROM (
    SELECT name, -count(DISTINCT sub) FROM before, unnest(groups) AS name GROUP BY name) AS c (name, n);
  RETURN NULL;
END $$;
