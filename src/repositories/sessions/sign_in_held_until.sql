-- Tells until when an account is held after so many failures in a row: the first `free` ones hold it not at all, then the pauses double from a minute
-- to a quarter of an hour.
CREATE FUNCTION {{sign_in_held_until}}(failures integer, free integer) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN failures < free THEN '-infinity' ELSE now() + least(900, 60 * 2.0 ^ (failures - free)) * interval '1 second' END
$$;
