-- Counts an attempt at a password or code as a failure, and returns the consecutive failures. Returns NULL, and counts nothing, if the account must wait.
--
-- The lock of the row serializes parallel attempts on all instances. The commit does not wait for the disk: a crash of the database may lose the few
-- attempts of the last second.
CREATE FUNCTION {{count_sign_in_failure}}(whose_account bytea, whose text, free integer, of_second_factor boolean, most integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  counted integer;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO sign_in_failures AS f (account, sub, failures, held_until, expires_at, second_factor)
    VALUES (whose_account, whose, 1, {{sign_in_held_until}}(1, free),
            CASE WHEN whose IS NULL THEN now() + interval '1 hour' ELSE 'infinity' END, of_second_factor)
    ON CONFLICT (account) DO UPDATE SET
      failures = f.failures + 1, held_until = {{sign_in_held_until}}(f.failures + 1, free), expires_at = excluded.expires_at
      WHERE f.held_until <= now() AND f.failures < most
    RETURNING failures INTO counted;
  RETURN counted;
END $$;
