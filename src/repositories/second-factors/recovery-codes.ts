// Reads and writes the table recovery_codes: codes that each replace a second factor once.
import { type Sql, statement } from '../../database/database.ts';

const count = statement('recovery_codes.count', 'SELECT count(*)::int AS n FROM recovery_codes WHERE sub = $1');
const clear = statement('recovery_codes.clear', 'DELETE FROM recovery_codes WHERE sub = $1');
const insert = statement(
  'recovery_codes.insert',
  'INSERT INTO recovery_codes (code_hash, sub) SELECT hash, $1 FROM unnest($2::bytea[]) AS hash',
);
const use = statement(
  'recovery_codes.use',
  'DELETE FROM recovery_codes WHERE code_hash = $1 AND sub = $2 RETURNING code_hash',
);

export function recoveryCodesRepository(sql: Sql) {
  return {
    /** How many codes are left. */
    async count(sub: string): Promise<number> {
      const [row] = await sql.query<{ n: number }>(count, [sub]);
      return row!.n;
    },
    /** Replaces all codes, in a transaction that holds the user's row. */
    async replace(sub: string, hashes: Buffer[]): Promise<void> {
      await sql.query(clear, [sub]);
      await sql.query(insert, [sub, hashes]);
    },
    /** Uses a code up; false if the user has no such code, or has used it. */
    async use(hash: Buffer, sub: string): Promise<boolean> {
      return (await sql.query(use, [hash, sub])).length > 0;
    },
  };
}
