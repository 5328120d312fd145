// Reads and writes the table form_outcomes: what a form made that its answer shows once.
import { type Sql, statement } from '../../database/database.ts';
import { repeatedWithin } from './sessions.ts';

const expiry = `clock_timestamp() + make_interval(secs => ${repeatedWithin})`;
const claim = statement(
  'form_outcomes.claim',
  `INSERT INTO form_outcomes AS f (id, expires_at) VALUES ($1, ${expiry})
   ON CONFLICT (id) DO UPDATE SET sealed_encrypted = NULL, expires_at = EXCLUDED.expires_at
    WHERE f.expires_at <= clock_timestamp() RETURNING 1 AS done`,
);
const find = statement(
  'form_outcomes.find',
  'SELECT sealed_encrypted FROM form_outcomes WHERE id = $1 AND expires_at > clock_timestamp()',
);
const keep = statement(
  'form_outcomes.keep',
  `UPDATE form_outcomes SET sealed_encrypted = $2, expires_at = ${expiry} WHERE id = $1`,
);
const release = statement('form_outcomes.release', 'DELETE FROM form_outcomes WHERE id = $1');

export function formOutcomesRepository(sql: Sql) {
  return {
    /** Lets one of several requests with a form act, for some seconds; false for the others. @param id the digest of the form, in hex */
    async claim(id: string): Promise<boolean> {
      return (await sql.query(claim, [id])).length > 0;
    },
    /** A request with the form that acts or has acted; `sealed` is what came of it, absent as long as it acts. */
    async find(id: string): Promise<{ sealed: Buffer | undefined } | undefined> {
      const [row] = await sql.query<{ sealed_encrypted: Buffer | null }>(find, [id]);
      return row && { sealed: row.sealed_encrypted ?? undefined };
    },
    async keep(id: string, sealed: Buffer): Promise<void> {
      await sql.query(keep, [id, sealed]);
    },
    /** Lets the next request with the form act. */
    async release(id: string): Promise<void> {
      await sql.query(release, [id]);
    },
  };
}
