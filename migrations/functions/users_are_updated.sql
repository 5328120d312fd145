-- Ends what must end with a change: sessions of a user who is disabled, or becomes or ceases to be an administrator (security R52); known browsers
-- and counted failures with another password; mailed links, and mails in the outbox, that the change makes void.
-- It keeps group_memberships equal to users.groups: a group that a statement adds by itself is a membership by hand, and one that it removes ends
-- whatever its source, so that an administrator's removal always counts at once.
CREATE OR REPLACE FUNCTION users_are_updated() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  -- the sign-in stores a stronger hash of the same password, which is not a change of the password
  is_rehash boolean := current_setting('gatehouse.rehash', true) IS NOT DISTINCT FROM 'on';
  changed record;
BEGIN
  FOR changed IN
    SELECT a.sub, b.status = 'enabled' AND a.status = 'disabled' AS is_disabled, b.admin <> a.admin AS changes_power,
           b.password_hash IS DISTINCT FROM a.password_hash AND NOT is_rehash AS has_other_password,
           b.email IS DISTINCT FROM a.email OR b.email_verified > a.email_verified AS has_other_address
      FROM before b JOIN after a USING (sub)
     WHERE b.status <> a.status OR b.admin <> a.admin OR b.password_hash IS DISTINCT FROM a.password_hash
        OR b.email IS DISTINCT FROM a.email OR b.email_verified > a.email_verified
     ORDER BY a.sub
  LOOP
    IF changed.is_disabled OR changed.changes_power THEN
      DELETE FROM sessions WHERE sub = changed.sub;
    END IF;
    IF changed.is_disabled THEN
      DELETE FROM client_sessions WHERE sub = changed.sub;
    ELSIF changed.changes_power THEN
      -- no token for administrators outlives the change
      DELETE FROM client_sessions WHERE sub = changed.sub AND string_to_array(scope, ' ') && ARRAY['admin', 'metrics'];
    END IF;
    IF changed.has_other_password THEN
      DELETE FROM known_browsers WHERE sub = changed.sub;
      DELETE FROM sign_in_failures WHERE sub = changed.sub AND NOT second_factor;
    END IF;
    -- a link that was made for a user must not give the powers of an administrator
    IF changed.is_disabled OR changed.changes_power OR changed.has_other_password OR changed.has_other_address THEN
      UPDATE mailed_links SET used_at = now() WHERE sub = changed.sub AND used_at IS NULL;
      DELETE FROM outbox WHERE channel = 'mail' AND sub = changed.sub AND name IN ('verify-address', 'reset-password', 'invitation');
    END IF;
  END LOOP;
  IF NOT EXISTS (SELECT FROM before b JOIN after a USING (sub) WHERE a.groups <> b.groups) THEN
    RETURN NULL;
  END IF;
  PERFORM note_group_changes(array_agg(name), array_agg(n)) FROM (
    SELECT name, sum(change)::bigint FROM (
      SELECT DISTINCT a.sub, name, 1 FROM before b JOIN after a USING (sub), unnest(a.groups) AS name WHERE a.groups <> b.groups
      UNION ALL
      SELECT DISTINCT b.sub, name, -1 FROM before b JOIN after a USING (sub), unnest(b.groups) AS name WHERE a.groups <> b.groups
    ) AS c (sub, name, change) GROUP BY name HAVING sum(change) <> 0) AS c (name, n);
  DELETE FROM group_memberships m USING before b JOIN after a USING (sub)
   WHERE m.sub = a.sub AND a.groups <> b.groups AND m.group_name <> ALL (a.groups);
  INSERT INTO group_memberships (sub, group_name, source)
    SELECT DISTINCT a.sub, name, 'manual' FROM before b JOIN after a USING (sub), unnest(a.groups) AS name
     WHERE a.groups <> b.groups AND NOT EXISTS (SELECT FROM group_memberships m WHERE m.sub = a.sub AND m.group_name = name)
    ON CONFLICT DO NOTHING;
  -- who leaves a group may lose clients with it
  PERFORM end_lost_access(array_agg(a.sub)) FROM before b JOIN after a USING (sub) WHERE NOT a.groups @> b.groups;
  RETURN NULL;
END $$;
