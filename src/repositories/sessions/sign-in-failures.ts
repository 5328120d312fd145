// The table sign_in_failures: sign-ins of an account that failed in a row, counted before the password is looked at.
import { digest } from '../../crypto/secrets.ts';
import { type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import { batchedCall } from '../batched-call.ts';

/** After so many failures in a row an account takes no more tries from strange browsers (NIST SP 800-63B-4 3.2.2, security R63). */
export const mostFailures = 100;
/** So many pauses lead from the first one, a minute, to the longest, a quarter of an hour. */
export const pauses = 5;

export const signInHeldUntil = storedFunction(new URL('sign_in_held_until.sql', import.meta.url));
const countSignInFailure = storedFunction(new URL('count_sign_in_failure.sql', import.meta.url), [signInHeldUntil]);

const reserve = batchedCall('sign_in_failures.reserve', {
  function: countSignInFailure,
  types: 'bytea, text, integer, boolean, integer',
  columns: 'r AS failures',
  locks: 'value_1',
});
const forget = statement(
  'sign_in_failures.forget',
  `DELETE FROM sign_in_failures USING set_config('synchronous_commit', 'off', true) WHERE account = $1`,
);
const reopen = statement(
  'sign_in_failures.reopen',
  'UPDATE sign_in_failures SET failures = $2 WHERE account = $1 AND failures > $2',
);
const forgetUser = statement(
  'sign_in_failures.forget_user',
  `WITH failures AS (DELETE FROM sign_in_failures WHERE sub = $1 RETURNING failures),
        browsers AS (UPDATE known_browsers SET failures = 0, held_until = '-infinity' WHERE sub = $1 AND failures > 0 RETURNING 1)
   SELECT (SELECT count(*)::int FROM failures) + (SELECT count(*)::int FROM browsers) AS n`,
);

/** Whose failures are counted: an account however it was typed, or a name that nobody has. */
export interface Account {
  sub: string | undefined;
  name: string;
  /** True for what is asked for after the password, which is counted apart. */
  secondFactor?: true;
}

/** By what they are counted. */
export const failuresOf = ({ sub, name, secondFactor }: Account) => {
  if (sub === undefined) return digest('sign-in name', name);
  return digest(secondFactor ? 'second factor of account' : 'sign-in account', sub);
};

export function signInFailuresRepository(sql: Sql) {
  return {
    /**
     * Counts a try as a failure before it is one; the number of failures in a row, or 0 when the account has to wait and nothing is counted.
     * @param free failures in a row before the first pause
     */
    async reserve(account: Account, free: number): Promise<number> {
      const values = [failuresOf(account), account.sub, free, account.secondFactor ?? false, mostFailures];
      return (await sql.query<{ failures: number | null }>(reserve, values))[0]?.failures ?? 0;
    },
    /** The person has signed in. */
    async forget(account: Account): Promise<void> {
      await sql.query(forget, [failuresOf(account)]);
    },
    /** The person has signed in, in a known browser: strangers go on waiting, but the account is not closed to them for good. */
    async reopen(account: Account, free: number): Promise<void> {
      await sql.query(reopen, [failuresOf(account), free + pauses - 1]);
    },
    /** Forgets all failures of a user, in known browsers too; false when there were none. */
    async forgetUser(sub: string): Promise<boolean> {
      const [row] = await sql.query<{ n: number }>(forgetUser, [sub]);
      return row!.n > 0;
    },
  };
}
