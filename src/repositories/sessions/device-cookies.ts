// The table known_browsers: in which browsers a person has signed in with the present password (security R63).
import { batchedStatement, type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import { pauses, signInHeldUntil } from './sign-in-failures.ts';

/** A person's longest unused ones are forgotten. */
export const mostBrowsers = 10;

export const rememberBrowser = storedFunction(new URL('remember_browser.sql', import.meta.url));

// one that failed too often is a stranger again: a stolen cookie is good for that many tries
const knows = batchedStatement(
  'read',
  'known_browsers.knows',
  `SELECT 1 AS known FROM known_browsers WHERE token_hash = $1 AND sub = $2 AND expires_at > now() AND failures < $3`,
);
const reserve = statement(
  'known_browsers.reserve',
  `UPDATE known_browsers SET failures = failures + 1, held_until = ${signInHeldUntil.name}(failures + 1, $3)
    WHERE token_hash = $1 AND sub = $2 AND expires_at > now() AND held_until <= now() AND failures < $3 + ${pauses}
   RETURNING failures`,
);
const remember = statement(
  'known_browsers.remember',
  `SELECT ${rememberBrowser.name}($1, $2, $3, $4, ${mostBrowsers})`,
);

export function knownBrowsersRepository(sql: Sql) {
  return {
    /** @param free failures in a row before the first pause */
    async knows(tokenHash: Buffer, sub: string, free: number): Promise<boolean> {
      return (await sql.query(knows, [tokenHash, sub, free + pauses])).length > 0;
    },
    /** Counts a try of this browser as a failure before it is one; the number of failures in a row, or 0 when it has to wait. */
    async reserve(tokenHash: Buffer, sub: string, free: number): Promise<number> {
      return (await sql.query<{ failures: number }>(reserve, [tokenHash, sub, free]))[0]?.failures ?? 0;
    },
    /**
     * A person has shown the password in a browser, which is called by another token from now on, for everybody who is known in it.
     * A sign-in does the same by itself.
     * @param lifetime in seconds
     */
    async remember(sub: string, tokenHash: Buffer, previousHash: Buffer | undefined, lifetime: number): Promise<void> {
      await sql.query(remember, [sub, tokenHash, previousHash, lifetime]);
    },
  };
}
