// Counts in the table sign_in_failures the consecutive failed sign-ins of an account, before the password is checked.
import { digest } from '../../crypto/secrets.ts';
import { type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import { batchedCall } from '../batched-call.ts';

/** Consecutive failures after which an account refuses attempts from unknown browsers (NIST SP 800-63B-4 3.2.2, security R63). */
export const maxFailures = 100;
/** The number of pauses from the first one, a minute, to the longest, a quarter of an hour. */
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
const reduce = statement(
  'sign_in_failures.reduce',
  'UPDATE sign_in_failures SET failures = $2 WHERE account = $1 AND failures > $2',
);
// the account was not held before this attempt; a later one may hold it
const takeBack = statement(
  'sign_in_failures.take_back',
  `UPDATE sign_in_failures SET failures = greatest(0, failures - 1), held_until = CASE WHEN failures = $2 THEN '-infinity' ELSE held_until END
    WHERE account = $1`,
);
const heldUntil = statement(
  'sign_in_failures.held_until',
  'SELECT held_until AS until FROM sign_in_failures WHERE account = $1 AND held_until > now()',
);
const forgetUser = statement(
  'sign_in_failures.forget_user',
  `WITH failures AS (DELETE FROM sign_in_failures WHERE sub = $1 RETURNING failures),
        browsers AS (UPDATE known_browsers SET failures = 0, held_until = '-infinity' WHERE sub = $1 AND failures > 0 RETURNING 1)
   SELECT (SELECT count(*)::int FROM failures) + (SELECT count(*)::int FROM browsers) AS n`,
);

/** The account whose failures are counted, in any spelling, or a name without an account. */
export interface Account {
  sub: string | undefined;
  name: string;
  /** Counts attempts at a second factor, which are separate from those at the password. */
  secondFactor?: true;
}

/** The key of an account's failures. */
export const failuresOf = ({ sub, name, secondFactor }: Account) => {
  if (sub === undefined) return digest('sign-in name', name);
  return digest(secondFactor ? 'second factor of account' : 'sign-in account', sub);
};

export function signInFailuresRepository(sql: Sql) {
  return {
    /**
     * Counts an attempt as a failure before its result is known; the consecutive failures, or 0 when the account must wait and nothing is counted.
     * @param free consecutive failures before the first pause
     */
    async reserve(account: Account, free: number): Promise<number> {
      const values = [failuresOf(account), account.sub, free, account.secondFactor ?? false, maxFailures];
      return (await sql.query<{ failures: number | null }>(reserve, values))[0]?.failures ?? 0;
    },
    /** Deletes the failures after the user has signed in. */
    async forget(account: Account): Promise<void> {
      await sql.query(forget, [failuresOf(account)]);
    },
    /** Takes an attempt back whose result nothing could tell. @param failures what reserve() returned */
    async takeBack(account: Account, failures: number): Promise<void> {
      await sql.query(takeBack, [failuresOf(account), failures]);
    },
    /** Reduces the failures after a sign-in in a known browser: unknown browsers still wait, but are not refused for good. */
    async reduce(account: Account, free: number): Promise<void> {
      await sql.query(reduce, [failuresOf(account), free + pauses - 1]);
    },
    /** Until when failed sign-ins make an account wait in unknown browsers; undefined if it need not wait. */
    async heldUntil(account: Account): Promise<Date | undefined> {
      return (await sql.query<{ until: Date }>(heldUntil, [failuresOf(account)]))[0]?.until;
    },
    /** Deletes all failures of a user, also those of known browsers; false when there were none. */
    async forgetUser(sub: string): Promise<boolean> {
      const [row] = await sql.query<{ n: number }>(forgetUser, [sub]);
      return row!.n > 0;
    },
  };
}
