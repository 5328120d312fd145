-- Ends what must end with a change: sessions of a user who is disabled, or becomes or ceases to be an administrator (security R52); known browsers
-- and counted failures with another password; an uploaded picture that the claim no longer names; mailed links, and mails in the outbox, that the change makes void.
-- It keeps group_memberships equal to users.groups: a group that a statement adds by itself is a membership by hand, and one that it removes ends
-- whatever its source, so that an administrator's removal always counts at once.
-- The plan of a statement here serves all later changes of the session, and was made for a change of one user. So before and after are joined by FULL
-- JOIN, which is never a nested loop as long as no condition demands a row of both: a nested loop would compare each of 10,000 users with all others.
CREATE OR REPLACE FUNCTION users_are_updated() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  -- the sign-in stores a stronger hash of the same password, which is not a change of the password
  is_rehash boolean := current_setting('gatehouse.rehash', true) IS NOT DISTINCT FROM 'on';
  changed record;
  pictured text[];
  regrouped text[];
  departed text[];
BEGIN
  FOR changed IN
    SELECT sub, b.status = 'enabled' AND a.status = 'disabled' AS is_disabled, b.status <> a.status AS has_other_status, a.status = 'enabled' AS is_enabled,
           b.admin <> a.admin AS changes_power,
           b.sub = a.sub AND b.password_hash IS DISTINCT FROM a.password_hash AND NOT is_rehash AS has_other_password,
           b.sub = a.sub AND (b.email IS DISTINCT FROM a.email OR b.email_verified > a.email_verified) AS has_other_address
      FROM before b FULL JOIN after a USING (sub)
     WHERE b.status IS DISTINCT FROM a.status OR b.admin IS DISTINCT FROM a.admin OR b.password_hash IS DISTINCT FROM a.password_hash
        OR b.email IS DISTINCT FROM a.email OR b.email_verified IS DISTINCT FROM a.email_verified
     ORDER BY sub
  LOOP
    IF changed.has_other_status THEN
      PERFORM decide_status(changed.sub);
      IF changed.is_enabled THEN
        -- an administrator keeps a user whom the source deleted: the account is not deleted later, also not once it is disabled again
        UPDATE scim_users SET kept = true WHERE sub = changed.sub AND deleted_at IS NOT NULL AND NOT kept;
      END IF;
    END IF;
    IF changed.is_disabled OR changed.changes_power THEN
      DELETE FROM sessions WHERE sub = changed.sub;
      UPDATE known_browsers SET second_factor_until = NULL WHERE sub = changed.sub AND second_factor_until IS NOT NULL;
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
  SELECT array_agg(sub) FILTER (WHERE b.sub = a.sub AND b.claims -> 'picture' IS DISTINCT FROM a.claims -> 'picture'),
         array_agg(sub) FILTER (WHERE a.groups <> b.groups), array_agg(sub) FILTER (WHERE NOT a.groups @> b.groups)
    INTO pictured, regrouped, departed FROM before b FULL JOIN after a USING (sub);
  IF pictured IS NOT NULL THEN
    -- an uploaded picture ends when the claim names another one, or none
    DELETE FROM images i USING users u
     WHERE i.sub = ANY (pictured) AND u.sub = i.sub AND position(i.key IN coalesce(u.claims ->> 'picture', '')) = 0;
  END IF;
  IF EXISTS (SELECT FROM provisioning_targets) THEN
    PERFORM note_provisioning(array_agg(sub) FILTER (WHERE b.sub = a.sub AND (a.username, a.email, a.email_verified, a.email_confirmed_by, a.status, a.groups, a.claims)
       IS DISTINCT FROM (b.username, b.email, b.email_verified, b.email_confirmed_by, b.status, b.groups, b.claims))) FROM before b FULL JOIN after a USING (sub);
  END IF;
  IF regrouped IS NULL THEN
    RETURN NULL;
  END IF;
  -- users whose groups stay are counted on both sides
  PERFORM note_group_changes(array_agg(name), array_agg(n)) FROM (
    SELECT name, sum(change)::bigint FROM (
      SELECT DISTINCT a.sub, name, 1 FROM after a, unnest(a.groups) AS name
      UNION ALL
      SELECT DISTINCT b.sub, name, -1 FROM before b, unnest(b.groups) AS name
    ) AS c (sub, name, change) GROUP BY name HAVING sum(change) <> 0) AS c (name, n);
  DELETE FROM group_memberships m USING users u
   WHERE m.sub = ANY (regrouped) AND u.sub = m.sub AND m.group_name <> ALL (u.groups);
  INSERT INTO group_memberships (sub, group_name, source)
    SELECT sub, name, 'manual' FROM (
      SELECT u.sub, name FROM users u, unnest(u.groups) AS name WHERE u.sub = ANY (regrouped)
      EXCEPT SELECT m.sub, m.group_name FROM group_memberships m WHERE m.sub = ANY (regrouped)) AS by_hand
    ON CONFLICT DO NOTHING;
  -- who leaves a group may lose clients with it
  PERFORM end_lost_access(departed);
  RETURN NULL;
END $$;
