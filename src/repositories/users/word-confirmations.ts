// Finds the users whose address was confirmed by a word only (security R156).
import { type Sql, statement } from '../../database/database.ts';

export interface WordConfirmation {
  sub: string;
  username: string;
  email: string;
}

const byWord = `email IS NOT NULL AND email_verified AND email_confirmed_by = 'word'`;
const list = statement(
  'word_confirmations.list',
  `SELECT sub, username, email FROM users
    WHERE ${byWord} AND sub > $1 AND (lower(split_part(email, '@', 2)) = ANY ($3)
       OR $4 AND EXISTS (SELECT FROM unnest($3::text[]) AS d WHERE right(lower(split_part(email, '@', 2)), length(d) + 1) = '.' || d)
       -- an older address is stored in another form than its A-label
       OR email ~ '[^ -~]')
    ORDER BY sub LIMIT $2`,
);
const lock = statement(
  'word_confirmations.lock',
  `SELECT sub, username, email FROM users WHERE sub = ANY ($1) AND ${byWord} ORDER BY sub FOR NO KEY UPDATE`,
);
const takeBack = statement(
  'word_confirmations.take_back',
  'UPDATE users SET email_verified = false, email_confirmed_by = NULL, updated_at = now() WHERE sub = ANY ($1)',
);

export function wordConfirmationsRepository(sql: Sql) {
  return {
    /**
     * Those whose address may be of these domains, in the order of the subs.
     * @param after the last sub of the previous page; empty for the first one
     */
    list: (
      { domains, subdomains }: { domains: readonly string[]; subdomains: boolean },
      after: string,
      limit: number,
    ): Promise<WordConfirmation[]> => sql.query<WordConfirmation>(list, [after, limit, domains, subdomains]),
    /** Locks those of these users whose address is still confirmed by a word only. */
    lock: (subs: readonly string[]): Promise<WordConfirmation[]> => sql.query<WordConfirmation>(lock, [subs]),
    /** In a transaction that holds the rows: the addresses are no longer confirmed. */
    async takeBack(subs: readonly string[]): Promise<void> {
      await sql.query(takeBack, [subs]);
    },
  };
}
