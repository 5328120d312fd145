// Writes forms that have just used something up into the table used_challenges: a double click sends such a form twice.
import { type Sql, statement } from '../../database/database.ts';
import { repeatedWithin } from './sessions.ts';

const keep = statement(
  'used_forms.keep',
  `INSERT INTO used_challenges (challenge_hash, expires_at) VALUES ($1, clock_timestamp() + make_interval(secs => ${repeatedWithin}))
   ON CONFLICT (challenge_hash) DO UPDATE SET expires_at = EXCLUDED.expires_at`,
);
const find = statement(
  'used_forms.find',
  'SELECT FROM used_challenges WHERE challenge_hash = $1 AND expires_at > clock_timestamp()',
);

export function usedFormsRepository(sql: Sql) {
  return {
    /** Remembers a form, in the transaction that uses something up. @param formHash undefined for what no form did */
    async keep(formHash: Buffer | undefined): Promise<void> {
      if (formHash) await sql.query(keep, [formHash]);
    },
    /** Whether the form was sent in the last seconds, and used something up. */
    async isKept(formHash: Buffer | undefined): Promise<boolean> {
      return formHash !== undefined && (await sql.query(find, [formHash])).length > 0;
    },
  };
}
