-- Orders the comparison of these users with what provisioning targets have of them, in the transaction of the change (federation 8).
CREATE OR REPLACE FUNCTION note_provisioning(subs text[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO outbox (channel, name, data)
    SELECT 'provisioning', 'users', jsonb_build_object('subs', jsonb_agg(sub))
      FROM (SELECT sub, (row_number() OVER (ORDER BY sub) - 1) / 500 AS portion FROM unnest(subs) AS sub) AS each
     GROUP BY portion
$$;
