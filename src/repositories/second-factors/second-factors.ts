// All second factors of a person, whatever their kind: the table second_factors, from which those of each kind inherit.
import { sharedStatement, type Sql, statement } from '../../database/database.ts';

/** `other` is a kind that is asked for, and that this version has no words for. */
export const secondFactorKinds = ['authenticator', 'passkey', 'other'] as const;

export interface SecondFactor {
  id: string;
  kind: (typeof secondFactorKinds)[number];
  /** As its person calls it; may be empty. */
  name: string;
  createdAt: Date;
  usedAt: Date | undefined;
}

/** What decides whether somebody has to show a second factor. */
export interface Standing {
  enrolled: boolean;
  admin: boolean;
  groups: string[];
  /** The database's time. */
  now: Date;
}

// The table of each kind inherits from second_factors, and so does that of a kind to come: what is asked here holds for it with nothing to add
// (security R127). sign_in() of the migrations asks the same table.
const columns = `id, CASE f.tableoid WHEN 'authenticators'::regclass THEN 'authenticator' WHEN 'passkeys'::regclass THEN 'passkey'
  ELSE 'other' END AS kind, name, created_at, used_at`;
/** Says of a user `u` whether there is one. */
export const remaining = 'SELECT FROM second_factors f WHERE f.sub = u.sub';

const list = statement(
  'second_factors.list',
  `SELECT ${columns} FROM second_factors f WHERE sub = $1 ORDER BY created_at, id`,
);
const standing = sharedStatement(
  'read',
  'second_factors.standing',
  `SELECT u.admin, u.groups, EXISTS (${remaining}) AS enrolled, clock_timestamp() AS now FROM users u WHERE u.sub = $1`,
);
const remove = statement(
  'second_factors.remove',
  `DELETE FROM second_factors f WHERE sub = $1 AND ($2::text IS NULL OR id = $2) RETURNING ${columns}`,
);
// recovery codes stand for a second factor, and are none by themselves
const dropCodes = statement(
  'second_factors.drop_codes',
  `DELETE FROM recovery_codes c USING users u WHERE u.sub = $1 AND c.sub = u.sub AND NOT EXISTS (${remaining})`,
);

interface Row {
  id: string;
  kind: SecondFactor['kind'];
  name: string;
  created_at: Date;
  used_at: Date | null;
}

export function secondFactorsRepository(sql: Sql) {
  return {
    /** The oldest first. */
    async list(sub: string): Promise<SecondFactor[]> {
      return (await sql.query<Row>(list, [sub])).map(toSecondFactor);
    },
    /** Undefined for nobody. */
    async standing(sub: string): Promise<Standing | undefined> {
      const [row] = await sql.query<Standing>(standing, [sub]);
      return row;
    },
    /** In a transaction that holds the user's row: takes one away, or all; with the last one the recovery codes go. */
    async remove(sub: string, id?: string): Promise<SecondFactor[]> {
      const removed = await sql.query<Row>(remove, [sub, id]);
      await sql.query(dropCodes, [sub]);
      return removed.map(toSecondFactor);
    },
  };
}

function toSecondFactor(row: Row): SecondFactor {
  return { id: row.id, kind: row.kind, name: row.name, createdAt: row.created_at, usedAt: row.used_at ?? undefined };
}
