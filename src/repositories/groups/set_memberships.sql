-- Gives a user the groups that one source names, and takes back those that only this source gave: a source touches its own rows alone. A guarded
-- group is skipped that does not name the source among its guarded_sources, or that the user would join with a link that was made without a
-- person and that no administrator has decided about (security R165). users.groups becomes the union of all sources.
--   joined, departed: the groups that the user is now in, or no longer in; skipped: guarded groups, and those beyond the most that a user may have
CREATE FUNCTION {{set_memberships}}(
  user_sub text, of_source text, names text[], guarded text[], OUT joined text[], OUT departed text[], OUT skipped text[]
) LANGUAGE plpgsql AS $$
DECLARE
  had text[];
  allowed text[];
  kept text[];
BEGIN
  -- groups before users, as every change of groups locks them
  PERFORM FROM groups WHERE name = ANY (names) ORDER BY name FOR KEY SHARE;
  SELECT groups INTO had FROM users WHERE sub = user_sub FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT coalesce(array_agg(DISTINCT named.name), '{}') INTO skipped FROM unnest(names) AS named (name)
   WHERE named.name = ANY (guarded)
     AND (NOT EXISTS (SELECT FROM groups g WHERE g.name = named.name AND of_source = ANY (g.guarded_sources))
          OR (named.name <> ALL (had) AND EXISTS (
                SELECT FROM linked_identities l WHERE l.sub = user_sub AND l.how IN ('domain', 'provisioned'))));
  allowed := ARRAY(SELECT DISTINCT name FROM unnest(names) AS name WHERE name <> ALL (skipped) ORDER BY name);
  DELETE FROM group_memberships WHERE sub = user_sub AND source = of_source AND group_name <> ALL (allowed);
  kept := ARRAY(SELECT name FROM unnest(had) WITH ORDINALITY AS h (name, place)
                 WHERE EXISTS (SELECT FROM group_memberships m WHERE m.sub = user_sub AND m.group_name = name) OR name = ANY (allowed)
                 ORDER BY place);
  joined := (ARRAY(SELECT name FROM unnest(allowed) AS name WHERE name <> ALL (had) ORDER BY name))[:greatest(0, 1000 - cardinality(kept))];
  skipped := skipped || ARRAY(SELECT name FROM unnest(allowed) AS name WHERE name <> ALL (had) AND name <> ALL (joined) ORDER BY name);
  departed := ARRAY(SELECT name FROM unnest(had) AS name WHERE name <> ALL (kept) ORDER BY name);
  INSERT INTO group_memberships (sub, group_name, source)
    SELECT user_sub, name, of_source FROM unnest(allowed) AS name WHERE name <> ALL (skipped) ON CONFLICT DO NOTHING;
  IF kept || joined <> had THEN
    UPDATE users SET groups = kept || joined, updated_at = now() WHERE sub = user_sub;
  END IF;
END $$;
