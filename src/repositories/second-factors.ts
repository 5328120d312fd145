// All second factors of a person, whatever their kind, over the tables of each kind.
import { sharedStatement, type Sql, statement } from '../database/database.ts';

export const secondFactorKinds = ['authenticator', 'passkey'] as const;

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

// every kind is one more SELECT here, one more in sign_in() of the migrations, and one more in `remaining`, which says of a user `u` whether
// there is one
const kinds = `SELECT id, 'authenticator' AS kind, name, created_at, used_at FROM authenticators WHERE sub = $1
  UNION ALL SELECT id, 'passkey', name, created_at, used_at FROM passkeys WHERE sub = $1`;
export const remaining = `SELECT 1 FROM authenticators a WHERE a.sub = u.sub UNION ALL SELECT 1 FROM passkeys p WHERE p.sub = u.sub`;

const list = statement('second_factors.list', `SELECT * FROM (${kinds}) AS factors ORDER BY created_at, id`);
const standing = sharedStatement(
  'read',
  'second_factors.standing',
  `SELECT u.admin, u.groups, EXISTS (${remaining}) AS enrolled, clock_timestamp() AS now FROM users u WHERE u.sub = $1`,
);
const removeAuthenticators = statement(
  'second_factors.remove_authenticators',
  `DELETE FROM authenticators WHERE sub = $1 AND ($2::text IS NULL OR id = $2)
   RETURNING id, 'authenticator' AS kind, name, created_at, used_at`,
);
const removePasskeys = statement(
  'second_factors.remove_passkeys',
  `DELETE FROM passkeys WHERE sub = $1 AND ($2::text IS NULL OR id = $2)
   RETURNING id, 'passkey' AS kind, name, created_at, used_at`,
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
      const authenticators = await sql.query<Row>(removeAuthenticators, [sub, id]);
      const passkeys = await sql.query<Row>(removePasskeys, [sub, id]);
      await sql.query(dropCodes, [sub]);
      return [...authenticators, ...passkeys].map(toSecondFactor);
    },
  };
}

function toSecondFactor(row: Row): SecondFactor {
  return { id: row.id, kind: row.kind, name: row.name, createdAt: row.created_at, usedAt: row.used_at ?? undefined };
}
