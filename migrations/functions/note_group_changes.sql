-- Notes how many users joined and left each group, and creates a group when its first user joins.
CREATE OR REPLACE FUNCTION note_group_changes(names text[], changes bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  joined text[];
BEGIN
  IF names IS NULL THEN
    RETURN;
  END IF;
  SELECT array_agg(name ORDER BY name) INTO joined FROM unnest(names, changes) AS c (name, n) WHERE n > 0;
  IF joined IS NOT NULL THEN
    -- a transaction that deletes a group holds its row: this one waits for it, and then creates the group anew
    PERFORM FROM groups WHERE name = ANY (joined) ORDER BY name FOR KEY SHARE;
    INSERT INTO groups (name) SELECT unnest(joined) ON CONFLICT DO NOTHING;
  END IF;
  INSERT INTO group_changes (name, change) SELECT * FROM unnest(names, changes);
END $$;
