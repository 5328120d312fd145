// Reads and writes the table known_browsers: the browsers in which a user has signed in with the current password (security R63).
import { batchedStatement, type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import { pauses, signInHeldUntil } from './sign-in-failures.ts';

/** The most browsers of a user. Those unused for longest are deleted. */
export const maxBrowsers = 10;

/** How many accounts a browser offers at a sign-in. */
const maxAccounts = 5;

export const rememberBrowser = storedFunction(new URL('remember_browser.sql', import.meta.url));

// a browser with too many failures is unknown again: a stolen cookie permits only so many attempts
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
const takeBack = statement(
  'known_browsers.take_back',
  `UPDATE known_browsers SET failures = greatest(0, failures - 1), held_until = CASE WHEN failures = $3 THEN '-infinity' ELSE held_until END
    WHERE token_hash = $1 AND sub = $2`,
);
const remember = statement(
  'known_browsers.remember',
  `SELECT ${rememberBrowser.name}($1, $2, $3, $4, ${maxBrowsers}, NULL, NULL)`,
);
const accounts = statement(
  'known_browsers.accounts',
  `SELECT u.sub, u.username, u.claims ->> 'name' AS name, u.claims ->> 'picture' AS picture FROM known_browsers k JOIN users u ON u.sub = k.sub
    WHERE k.token_hash = $1 AND k.expires_at > now() AND u.status = 'enabled' ORDER BY k.used_at DESC LIMIT ${maxAccounts}`,
);
// store_session() decides it, and knows who is never spared
const spares = statement(
  'known_browsers.spares',
  'SELECT 1 AS spares FROM known_browsers WHERE token_hash = $1 AND sub = $2 AND expires_at > now() AND second_factor_until > now()',
);
/** Lets every browser of the user `$1` ask for the second factor again. */
export const endSparing =
  'UPDATE known_browsers SET second_factor_until = NULL WHERE sub = $1 AND second_factor_until IS NOT NULL';
// a session is used after its sign-in, and a browser is known after its session
const lastUses = statement(
  'known_browsers.last_uses',
  `SELECT sub, greatest(
            (SELECT max(used_at) FROM known_browsers k WHERE k.sub = asked.sub),
            (SELECT max(used_at) FROM sessions s WHERE s.sub = asked.sub)) AS used_at FROM unnest($1::text[]) AS asked (sub)`,
);
const forget = statement('known_browsers.forget', 'DELETE FROM known_browsers WHERE token_hash = $1 AND sub = $2');

interface AccountRow {
  sub: string;
  username: string;
  name: string | null;
  picture: string | null;
}

/** An account with which a user has signed in in a browser. */
export interface KnownAccount {
  sub: string;
  username: string;
  name?: string;
  /** The value of the claim. */
  picture?: string;
}

export function knownBrowsersRepository(sql: Sql) {
  return {
    /** When each of these users last signed in or used a session. A user without either is missing. */
    async lastUses(subs: readonly string[]): Promise<Map<string, Date>> {
      const rows = await sql.query<{ sub: string; used_at: Date | null }>(lastUses, [subs]);
      return new Map(rows.flatMap(({ sub, used_at: at }) => (at ? [[sub, at] as const] : [])));
    },
    /** @param free consecutive failures before the first pause */
    async knows(tokenHash: Buffer, sub: string, free: number): Promise<boolean> {
      return (await sql.query(knows, [tokenHash, sub, free + pauses])).length > 0;
    },
    /** Counts an attempt of this browser as a failure before its result is known; the consecutive failures, or 0 when it must wait. */
    async reserve(tokenHash: Buffer, sub: string, free: number): Promise<number> {
      return (await sql.query<{ failures: number }>(reserve, [tokenHash, sub, free]))[0]?.failures ?? 0;
    },
    /** Takes an attempt back whose result nothing could tell. @param failures what reserve() returned */
    async takeBack(tokenHash: Buffer, sub: string, failures: number): Promise<void> {
      await sql.query(takeBack, [tokenHash, sub, failures]);
    },
    /**
     * Stores that a user has shown the password in a browser, and renews the browser's token for all its users. A sign-in does the
     * same by itself.
     * @param lifetime in seconds
     */
    async remember(sub: string, tokenHash: Buffer, previousHash: Buffer | undefined, lifetime: number): Promise<void> {
      await sql.query(remember, [sub, tokenHash, previousHash, lifetime]);
    },
    /** Whether the browser may spare the user a second factor. */
    async spares(tokenHash: Buffer, sub: string): Promise<boolean> {
      return (await sql.query(spares, [tokenHash, sub])).length > 0;
    },
    /** The accounts with which users signed in in a browser: at most five, the last one first. */
    async accounts(tokenHash: Buffer): Promise<KnownAccount[]> {
      const rows = await sql.query<AccountRow>(accounts, [tokenHash]);
      return rows.map(({ sub, username, name, picture }) => ({
        sub,
        username,
        ...(name && { name }),
        ...(picture && { picture }),
      }));
    },
    /** Makes a browser unknown for a user. */
    async forget(tokenHash: Buffer, sub: string): Promise<void> {
      await sql.query(forget, [tokenHash, sub]);
    },
  };
}
