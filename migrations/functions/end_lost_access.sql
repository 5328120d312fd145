-- Orders the end of what these users have of clients that they may no longer use, in portions that one transaction can end. Only clients that a user
-- has granted something have sessions or tokens of the user.
CREATE OR REPLACE FUNCTION end_lost_access(subs text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF subs IS NULL OR NOT EXISTS (SELECT FROM clients WHERE access <> 'everyone') THEN
    RETURN;
  END IF;
  INSERT INTO outbox (channel, name, client_id, data)
    SELECT 'access', 'users', client_id, jsonb_build_object('subs', jsonb_agg(sub))
      FROM (SELECT g.client_id, u.sub, (row_number() OVER (PARTITION BY g.client_id ORDER BY u.sub) - 1) / 500 AS portion
              FROM users u JOIN grants g ON g.sub = u.sub JOIN clients c ON c.client_id = g.client_id
             WHERE u.sub = ANY (subs) AND NOT has_access(u.groups, c.access, c.access_groups)) AS lost
     GROUP BY client_id, portion;
END $$;
