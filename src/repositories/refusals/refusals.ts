// Stores what is behind refusals that stay on a page, for a day each, in a ring of 10,000 rows.
import { type Sql, statement } from '../../database/database.ts';
import type { RefusalFacts } from '../../oauth/errors.ts';

export interface KeptRefusal {
  /** As the page shows it. */
  reference: string;
  refusedAt: Date;
  facts: RefusalFacts;
}

const keep = statement(
  'refusals.keep',
  `INSERT INTO refusals (slot, reference, facts) VALUES (nextval('refusal_slots'), $1, $2)
   ON CONFLICT (slot) DO UPDATE SET reference = excluded.reference, refused_at = excluded.refused_at, facts = excluded.facts`,
);
const find = statement(
  'refusals.find',
  `SELECT reference, refused_at AS "refusedAt", facts FROM refusals
    WHERE reference = $1 AND refused_at > now() - interval '1 day' ORDER BY refused_at DESC LIMIT 1`,
);

export function refusalsRepository(sql: Sql) {
  return {
    /** Takes the place of the oldest one if the ring is full. */
    async keep(reference: string, facts: RefusalFacts): Promise<void> {
      await sql.query(keep, [reference, JSON.stringify(facts)]);
    },
    async find(reference: string): Promise<KeptRefusal | undefined> {
      return (await sql.query<KeptRefusal>(find, [reference]))[0];
    },
  };
}
