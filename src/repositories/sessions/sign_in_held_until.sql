-- Returns until when an account must wait after a number of consecutive failures. The first `free_failures` cause no pause; then the pauses double from
-- a minute to a quarter of an hour.
CREATE FUNCTION {{sign_in_held_until}}(failures integer, free_failures integer) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN failures < free_failures THEN '-infinity'
              ELSE now() + least(900, 60 * 2.0 ^ (failures - free_failures)) * interval '1 second' END
$$;
