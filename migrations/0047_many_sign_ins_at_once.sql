-- Tries at a password are counted in a call, so that those who try at the same time are counted by one statement (and the same account twice,
-- which an INSERT for many could not).
--
-- The row's lock makes parallel tries come one after another, on all instances. The disk is not waited for: a crash of the database may forget
-- the last moment's tries, which were few. It returns the failures in a row, and NULL where the account has to wait and nothing is counted.
CREATE FUNCTION count_sign_in_failure(whose_account bytea, whose text, free integer, of_second_factor boolean, most integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  counted integer;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO sign_in_failures AS f (account, sub, failures, held_until, expires_at, second_factor)
    VALUES (whose_account, whose, 1, sign_in_held_until(1, free),
            CASE WHEN whose IS NULL THEN now() + interval '1 hour' ELSE 'infinity' END, of_second_factor)
    ON CONFLICT (account) DO UPDATE SET
      failures = f.failures + 1, held_until = sign_in_held_until(f.failures + 1, free), expires_at = excluded.expires_at
      WHERE f.held_until <= now() AND f.failures < most
    RETURNING failures INTO counted;
  RETURN counted;
END $$;

-- Of those who sign in in one transaction each comes later than the one before: by this the browsers used last are told from the others.
ALTER TABLE known_browsers ALTER used_at SET DEFAULT clock_timestamp();
