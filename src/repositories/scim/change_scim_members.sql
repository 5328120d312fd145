-- Changes the members of a group of a SCIM source as one set operation, whatever other requests change at the same time (federation FR38). The row
-- of the group is locked first, then the group, then its users in one order. The source touches its own memberships alone, and users.groups stays
-- the union of all sources. Nothing is changed if an id is none of a user of the source, or if the group is guarded and does not admit the source.
-- Sets are subtracted by EXCEPT: NOT EXISTS would compare each of 10,000 ids with all users, where the statistics do not know the users yet.
--   all: whether `added` is all members; stranger: the first id that is unknown; guards: whether the group is guarded
--   joined, departed: the users that are now in the group, or no longer in it by any source
--   skipped: users who may not join a guarded group before an administrator decided about their links, and those with the most groups
CREATE FUNCTION {{change_scim_members}}(
  of_source text, group_id text, replaces boolean, added text[], removed text[], guarded text[],
  OUT stranger text, OUT guards boolean, OUT joined text[], OUT departed text[], OUT skipped text[], OUT changed boolean
) LANGUAGE plpgsql AS $$
DECLARE
  membership text := 'scim:' || of_source;
  group_here text;
  entering text[];
  leaving text[];
  staying text[];
  gone integer;
  came integer;
BEGIN
  changed := false;
  guards := false;
  SELECT name INTO group_here FROM scim_groups WHERE id = group_id AND source_id = of_source FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  PERFORM FROM groups WHERE name = group_here FOR KEY SHARE;
  SELECT named.sub INTO stranger FROM (
    SELECT unnest(added) EXCEPT SELECT s.sub FROM scim_users s WHERE s.sub = ANY (added) AND s.source_id = of_source AND s.deleted_at IS NULL
  ) AS named (sub) LIMIT 1;
  IF stranger IS NOT NULL THEN
    RETURN;
  END IF;
  entering := ARRAY(SELECT named.sub FROM unnest(added) AS named (sub)
    EXCEPT SELECT m.sub FROM group_memberships m WHERE m.sub = ANY (added) AND m.group_name = group_here AND m.source = membership AND m.source <> 'manual');
  leaving := CASE WHEN replaces
    THEN ARRAY(SELECT m.sub FROM group_memberships m WHERE m.source = membership AND m.source <> 'manual' AND m.group_name = group_here
      EXCEPT SELECT unnest(added))
    ELSE ARRAY(SELECT m.sub FROM group_memberships m WHERE m.source = membership AND m.source <> 'manual' AND m.group_name = group_here AND m.sub = ANY (removed)) END;
  IF cardinality(entering) + cardinality(leaving) = 0 THEN
    RETURN;
  END IF;
  guards := group_here = ANY (guarded);
  IF guards AND NOT EXISTS (SELECT FROM groups g WHERE g.name = group_here AND membership = ANY (g.guarded_sources)) THEN
    RETURN;
  END IF;
  PERFORM FROM users WHERE sub = ANY (entering || leaving) ORDER BY sub FOR NO KEY UPDATE;
  skipped := ARRAY(SELECT u.sub FROM users u WHERE u.sub = ANY (entering) AND group_here <> ALL (u.groups)
    AND (cardinality(u.groups) >= 1000 OR (guards AND EXISTS (
      SELECT FROM linked_identities l WHERE l.sub = u.sub AND l.how IN ('domain', 'provisioned')))));
  entering := ARRAY(SELECT unnest(entering) EXCEPT SELECT unnest(skipped));
  DELETE FROM group_memberships WHERE sub = ANY (leaving) AND group_name = group_here AND source = membership;
  GET DIAGNOSTICS gone = ROW_COUNT;
  INSERT INTO group_memberships (sub, group_name, source)
    SELECT u.sub, group_here, membership FROM users u WHERE u.sub = ANY (entering) ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS came = ROW_COUNT;
  -- by another source
  staying := ARRAY(SELECT m.sub FROM group_memberships m WHERE m.sub = ANY (leaving) AND m.group_name = group_here);
  leaving := ARRAY(SELECT unnest(leaving) EXCEPT SELECT unnest(staying));
  WITH left_it AS (
    UPDATE users u SET groups = array_remove(u.groups, group_here), updated_at = now()
     WHERE u.sub = ANY (leaving) AND group_here = ANY (u.groups)
    RETURNING u.sub)
  SELECT coalesce(array_agg(sub), '{}') INTO departed FROM left_it;
  WITH joined_it AS (
    UPDATE users u SET groups = array_append(u.groups, group_here), updated_at = now()
     WHERE u.sub = ANY (entering) AND group_here <> ALL (u.groups)
    RETURNING u.sub)
  SELECT coalesce(array_agg(sub), '{}') INTO joined FROM joined_it;
  changed := gone + came > 0;
  IF changed THEN
    UPDATE scim_groups SET version = version + 1, updated_at = date_trunc('milliseconds', clock_timestamp()) WHERE id = group_id;
  END IF;
END $$;
