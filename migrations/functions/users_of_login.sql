-- Finds the users whom a typed user name or address names: one, except for a pair in shared_login_keys. Of such a pair the exact name comes first,
-- then the name, then the address. It is not bound to the columns of today: users gets further ones.
CREATE OR REPLACE FUNCTION users_of_login(typed text) RETURNS SETOF users LANGUAGE sql STABLE AS $$
  SELECT u.* FROM (
    SELECT k.sub FROM login_keys k WHERE k.key = login_key(typed)
    UNION ALL
    SELECT s.sub FROM shared_login_keys s WHERE s.key = login_key(typed)) AS held,
    -- LIMIT keeps the plan that uses the index, also if the table was small when it was planned
    LATERAL (SELECT * FROM users WHERE users.sub = held.sub LIMIT 1) AS u
  WHERE login_key(typed) IN (login_key(u.username), login_key(u.email))
  ORDER BY u.username = typed DESC, login_key(u.username) = login_key(typed) DESC, u.sub
$$;
