// Reads and removes second factors of every kind: the table second_factors, from which the table of each kind inherits.
import { batchedStatement, type Sql, statement } from '../../database/database.ts';

export interface SecondFactor {
  id: string;
  /** The name of its table in the singular, with hyphens. The authenticator of the same id verifies it. */
  kind: string;
  /** The user's name for it; may be empty. */
  name: string;
  createdAt: Date;
  usedAt: Date | undefined;
}

/** The facts that decide whether a user must show a second factor. */
export interface MfaStatus {
  enrolled: boolean;
  admin: boolean;
  groups: string[];
  /** The database's time. */
  now: Date;
}

// A new kind is a table that inherits from second_factors: every statement here and store_session() then cover it (security R127).
const columns = `id, (SELECT relname FROM pg_class WHERE oid = f.tableoid)::text AS of_table, name, created_at, used_at`;
/** Whether a user `u` has a second factor. */
export const remaining = 'SELECT FROM second_factors f WHERE f.sub = u.sub';

const list = statement(
  'second_factors.list',
  `SELECT ${columns} FROM second_factors f WHERE sub = $1 ORDER BY created_at, id`,
);
const mfaStatus = batchedStatement(
  'read',
  'second_factors.mfa_status',
  `SELECT u.admin, u.groups, EXISTS (${remaining}) AS enrolled, clock_timestamp() AS now FROM users u WHERE u.sub = $1`,
);
const remove = statement(
  'second_factors.remove',
  `DELETE FROM second_factors f WHERE sub = $1 AND ($2::text IS NULL OR id = $2) RETURNING ${columns}`,
);
// recovery codes only replace a second factor, and so are void without one
const dropCodes = statement(
  'second_factors.drop_codes',
  `DELETE FROM recovery_codes c USING users u WHERE u.sub = $1 AND c.sub = u.sub AND NOT EXISTS (${remaining})`,
);

interface Row {
  id: string;
  of_table: string;
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
    /** Undefined if there is no such user. */
    async mfaStatus(sub: string): Promise<MfaStatus | undefined> {
      const [row] = await sql.query<MfaStatus>(mfaStatus, [sub]);
      return row;
    },
    /** Removes one or all, in a transaction that holds the user's row. The recovery codes go with the last one. */
    async remove(sub: string, id?: string): Promise<SecondFactor[]> {
      const removed = await sql.query<Row>(remove, [sub, id]);
      await sql.query(dropCodes, [sub]);
      return removed.map(toSecondFactor);
    },
  };
}

function toSecondFactor(row: Row): SecondFactor {
  const kind = row.of_table.replace(/s$/, '').replaceAll('_', '-');
  return { id: row.id, kind, name: row.name, createdAt: row.created_at, usedAt: row.used_at ?? undefined };
}
