// Reads and writes the table authenticators: apps that show codes which change with the time (RFC 6238).
import { type Sql, statement } from '../../database/database.ts';

export interface TotpAuthenticator {
  id: string;
  secretEncrypted: Buffer;
}

export interface NewTotpAuthenticator extends TotpAuthenticator {
  sub: string;
  name: string;
  /** The time step of the code that confirmed it. */
  lastStep: number;
}

const list = statement(
  'authenticators.list',
  'SELECT id, secret_encrypted FROM authenticators WHERE sub = $1 ORDER BY created_at, id',
);
const insert = statement(
  'authenticators.insert',
  `INSERT INTO authenticators (id, sub, name, secret_encrypted, last_step) VALUES ($1, $2, $3, $4, $5)
   ON CONFLICT (id) DO NOTHING RETURNING id`,
);
// of two concurrent requests with the same code, the second finds its step used
const use = statement(
  'authenticators.use',
  'UPDATE authenticators SET last_step = $2, used_at = now() WHERE id = $1 AND last_step < $2 RETURNING id',
);

export function totpAuthenticatorsRepository(sql: Sql) {
  return {
    async list(sub: string): Promise<TotpAuthenticator[]> {
      const rows = await sql.query<{ id: string; secret_encrypted: Buffer }>(list, [sub]);
      return rows.map((row) => ({ id: row.id, secretEncrypted: row.secret_encrypted }));
    },
    /** False when it exists already. */
    async insert({ id, sub, name, secretEncrypted, lastStep }: NewTotpAuthenticator): Promise<boolean> {
      return (await sql.query(insert, [id, sub, name, secretEncrypted, lastStep])).length > 0;
    },
    /** Uses the code of a time step; false when that code or a later one was used before (RFC 6238 5.2). */
    async use(id: string, step: number): Promise<boolean> {
      return (await sql.query(use, [id, step])).length > 0;
    },
  };
}
