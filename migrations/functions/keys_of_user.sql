-- Lists the keys of a user's name, address and sub.
CREATE OR REPLACE FUNCTION keys_of_user(of users) RETURNS text[] LANGUAGE sql IMMUTABLE
RETURN array_remove(ARRAY[login_key((of).username), login_key((of).email), login_key((of).sub)], NULL);
