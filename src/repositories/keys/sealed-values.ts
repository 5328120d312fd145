// The columns that hold sealed values, whatever their tables: counted by data key, and sealed anew a batch at a time.
import { type Sql, statement } from '../../database/database.ts';

const columns = [
  { table: 'signing_keys', column: 'private_key_encrypted', key: 'kid' },
  { table: 'clients', column: 'shared_secret_encrypted', key: 'client_id' },
  { table: 'clients', column: 'client_secret_encrypted', key: 'client_id' },
  { table: 'authenticators', column: 'secret_encrypted', key: 'id' },
] as const;

export interface SealedValue {
  id: string;
  sealed: Buffer;
}

const places = columns.map(({ table, column, key }) => ({
  /** What a value of a row is bound to. */
  place: (id: string) => `${table}.${column}.${id}`,
  name: `${table}.${column}`,
  older: statement(
    `sealed_values.older.${column}`,
    `SELECT ${key} AS id, ${column} AS sealed FROM ${table}
      WHERE ${key} > $1 AND ${column} IS NOT NULL AND data_key_version(${column}) <> $2 ORDER BY ${key} LIMIT $3`,
  ),
  // what somebody changed meanwhile stays; the same secret is no new version of its client
  replace: statement(
    `sealed_values.replace.${column}`,
    `UPDATE ${table} t SET ${column} = n.after FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS n (id, before, after)
      WHERE t.${key} = n.id AND t.${column} = n.before AND set_config('gatehouse.reencrypt', 'on', true) = 'on' RETURNING 1 AS done`,
  ),
}));

const count = statement(
  'sealed_values.count',
  `SELECT version, count(*)::int AS values FROM (${columns
    .map(({ table, column }) => `SELECT data_key_version(${column}) AS version FROM ${table}`)
    .join(' UNION ALL ')}) AS sealed WHERE version IS NOT NULL GROUP BY version ORDER BY version`,
);
const sample = statement(
  'sealed_values.sample',
  columns
    .map(
      ({ table, column, key }) =>
        `(SELECT '${table}.${column}.' || ${key} AS place, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL LIMIT 1)`,
    )
    .join(' UNION ALL '),
);

export function sealedValuesRepository(sql: Sql) {
  return {
    /** Every column, as table.column. */
    names: places.map(({ name }) => name),
    /** How many values are sealed with each data key. */
    async count(): Promise<Map<number, number>> {
      const rows = await sql.query<{ version: number; values: number }>(count);
      return new Map(rows.map((row) => [row.version, row.values]));
    },
    /** One value of each column that has any, with its place. */
    sample: (): Promise<{ place: string; sealed: Buffer }[]> => sql.query(sample),
    /** Values of a column that another data key sealed, in the order of their rows from `after` on. */
    older: (column: number, after: string, version: number, limit: number): Promise<SealedValue[]> =>
      sql.query(places[column]!.older, [after, version, limit]),
    place: (column: number, id: string): string => places[column]!.place(id),
    /** Puts values in the place of others; returns how many were still there. */
    async replace(column: number, values: { id: string; before: Buffer; after: Buffer }[]): Promise<number> {
      const rows = await sql.query(places[column]!.replace, [
        values.map((value) => value.id),
        values.map((value) => value.before),
        values.map((value) => value.after),
      ]);
      return rows.length;
    },
  };
}
