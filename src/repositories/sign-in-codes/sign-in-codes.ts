// Reads and writes the table sign_in_codes: the codes that are sent by email, each for the browser that asked for it.
import { type Sql, statement } from '../../database/database.ts';

/** How many tries a code has, and for how long it is valid, in seconds. */
export const codeTries = 5;
export const codeLifetime = 600;

/** What the channel of mails knows of a code: the mail has it, and nothing stored does. */
export interface SentCode {
  sub: string;
  /** The address that it is sent to. */
  email: string;
  codeHash: Buffer;
}

/** A counted try. Of a name without an account, or before the mail is sent, nothing can be right. */
export interface CountedTry {
  sent: SentCode | undefined;
  remember: boolean;
}

// a browser has one code: the next request ends the one before
const begin = statement(
  'sign_in_codes.begin',
  `WITH ended AS (DELETE FROM sign_in_codes WHERE browser_hash = $2)
   INSERT INTO sign_in_codes (id, browser_hash, remember, expires_at) VALUES ($1, $2, $3, now() + interval '${codeLifetime} seconds')`,
);
// its time begins when the mail is sent, and each attempt to send it has another code
const give = statement(
  'sign_in_codes.give',
  `UPDATE sign_in_codes SET sub = $2, email = $3, code_hash = $4, expires_at = now() + interval '${codeLifetime} seconds'
    WHERE id = $1 AND expires_at > now() RETURNING 1 AS done`,
);
// the lock of the row serializes tries on all instances (security R62)
const count = statement(
  'sign_in_codes.count',
  `UPDATE sign_in_codes SET tries = tries + 1 WHERE id = $1 AND browser_hash = $2 AND expires_at > now() AND tries < ${codeTries}
   RETURNING sub, email, code_hash, remember`,
);
const use = statement(
  'sign_in_codes.use',
  'DELETE FROM sign_in_codes WHERE id = $1 AND code_hash = $2 AND expires_at > now() RETURNING 1 AS done',
);

export function signInCodesRepository(sql: Sql) {
  return {
    /** Stores that a browser asks for a code, and ends its earlier one. @param remember whether the user chose to stay signed in */
    async begin(id: string, browserHash: Buffer, remember: boolean): Promise<void> {
      await sql.query(begin, [id, browserHash, remember]);
    },
    /** Stores the code that is sent; false if nothing waits for it any more. */
    give: async (id: string, { sub, email, codeHash }: SentCode): Promise<boolean> =>
      (await sql.query(give, [id, sub, email, codeHash])).length > 0,
    /** Counts a try before the code is compared; undefined if there is no code, or none of its tries is left. */
    async count(id: string, browserHash: Buffer): Promise<CountedTry | undefined> {
      const [row] = await sql.query<{
        sub: string | null;
        email: string | null;
        code_hash: Buffer | null;
        remember: boolean;
      }>(count, [id, browserHash]);
      if (!row) return undefined;
      const { sub, email, code_hash: codeHash, remember } = row;
      return { sent: sub === null ? undefined : { sub, email: email!, codeHash: codeHash! }, remember };
    },
    /** Uses a code up; of several requests at once, one succeeds. */
    use: async (id: string, codeHash: Buffer): Promise<boolean> => (await sql.query(use, [id, codeHash])).length > 0,
  };
}
