-- Counts an attempt at a password or code as a failure, and returns the consecutive failures. Returns NULL, and counts nothing, if the account must wait.
-- `account_key` is the digest of the account, or of a name without an account, whose `user_sub` is NULL.
--
-- The lock of the row serializes parallel attempts on all instances. The commit does not wait for the disk: a crash of the database may lose the few
-- attempts of the last second.
CREATE FUNCTION {{count_sign_in_failure}}(
  account_key bytea, user_sub text, free_failures integer, is_second_factor boolean, max_failures integer
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  counted integer;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO sign_in_failures AS f (account, sub, failures, held_until, expires_at, second_factor)
    VALUES (account_key, user_sub, 1, {{sign_in_held_until}}(1, free_failures),
            CASE WHEN user_sub IS NULL THEN now() + interval '1 hour' ELSE 'infinity' END, is_second_factor)
    ON CONFLICT (account) DO UPDATE SET
      failures = f.failures + 1, held_until = {{sign_in_held_until}}(f.failures + 1, free_failures), expires_at = excluded.expires_at
      WHERE f.held_until <= now() AND f.failures < max_failures
    RETURNING failures INTO counted;
  RETURN counted;
END $$;
