// Reads and replaces the encrypted columns of all tables, and finds which keys of SECRET_KEY encrypted them.
import { type Sql, statement } from '../../database/database.ts';

/** The names are part of the stored format: they stay even if a table or a column is renamed. */
const columns = [
  { name: 'signing_keys.private_key_encrypted', table: 'signing_keys', column: 'private_key_encrypted', key: 'kid' },
  { name: 'clients.shared_secret_encrypted', table: 'clients', column: 'shared_secret_encrypted', key: 'client_id' },
  { name: 'clients.client_secret_encrypted', table: 'clients', column: 'client_secret_encrypted', key: 'client_id' },
  { name: 'authenticators.secret_encrypted', table: 'authenticators', column: 'secret_encrypted', key: 'id' },
  { name: 'connections.secret_encrypted', table: 'connections', column: 'secret_encrypted', key: 'id' },
  { name: 'connections.key_encrypted', table: 'connections', column: 'key_encrypted', key: 'id' },
  { name: 'connection_steps.sealed_encrypted', table: 'connection_steps', column: 'sealed_encrypted', key: 'id' },
  { name: 'kept_forms.sealed_encrypted', table: 'kept_forms', column: 'sealed_encrypted', key: 'id' },
  { name: 'form_outcomes.sealed_encrypted', table: 'form_outcomes', column: 'sealed_encrypted', key: 'id' },
  { name: 'webhooks.secret_encrypted', table: 'webhooks', column: 'secret_encrypted', key: 'id' },
  { name: 'webhooks.second_secret_encrypted', table: 'webhooks', column: 'second_secret_encrypted', key: 'id' },
  {
    name: 'provisioning_targets.bearer_token_encrypted',
    table: 'provisioning_targets',
    column: 'bearer_token_encrypted',
    key: 'id',
  },
  {
    name: 'provisioning_targets.client_secret_encrypted',
    table: 'provisioning_targets',
    column: 'client_secret_encrypted',
    key: 'id',
  },
  { name: 'saml_keys.private_key_encrypted', table: 'saml_keys', column: 'private_key_encrypted', key: 'id' },
  {
    name: 'backchannel_requests.notification_encrypted',
    table: 'backchannel_requests',
    column: 'notification_encrypted',
    key: 'id',
  },
  { name: 'upstream_tokens.sealed_encrypted', table: 'upstream_tokens', column: 'sealed_encrypted', key: 'id' },
] as const;
/** The encrypted columns, by their tables. */
export const sealedColumns: readonly { table: string; column: string }[] = columns;
export type SealedColumn = (typeof columns)[number]['name'];

/** The associated data of a stored value: copied to another row or column, it does not decrypt (security R29). */
export function associatedDataOf(name: SealedColumn, rowId: string): string {
  return `${name}.${rowId}`;
}

export interface SealedValue {
  /** The id of its row. */
  id: string;
  sealed: Buffer;
}

const statements = columns.map(({ table, column, key }) => ({
  others: statement(
    `sealed.others.${table}.${column}`,
    `SELECT ${key} AS id, ${column} AS sealed FROM ${table}
      WHERE ${key} > $1 AND ${column} IS NOT NULL AND sealed_key_id(${column}) <> $2 ORDER BY ${key} LIMIT $3`,
  ),
  // a value that a request changed meanwhile stays; a re-encrypted secret makes no new version of its client
  replace: statement(
    `sealed.replace.${table}.${column}`,
    `UPDATE ${table} t SET ${column} = n.after FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS n (id, before, after)
      WHERE t.${key} = n.id AND t.${column} = n.before AND set_config('gatehouse.reencrypt', 'on', true) = 'on' RETURNING 1 AS done`,
  ),
}));

// reads one index entry per key, however many values there are
const keyIds = statement(
  'sealed_values.key_ids',
  columns
    .map(
      ({ table, column }) =>
        `(WITH RECURSIVE ids AS (
            SELECT min(sealed_key_id(${column})) AS id FROM ${table}
            UNION ALL
            SELECT (SELECT min(sealed_key_id(${column})) FROM ${table} WHERE sealed_key_id(${column}) > ids.id)
              FROM ids WHERE ids.id IS NOT NULL)
          SELECT id FROM ids WHERE id IS NOT NULL)`,
    )
    .join(' UNION ') + ' ORDER BY id',
);
const countOthers = statement(
  'sealed_values.count_others',
  `SELECT (${columns
    .map(({ table, column }) => `(SELECT count(*) FROM ${table} WHERE sealed_key_id(${column}) <> $1)`)
    .join(' + ')})::int AS values`,
);

export function sealedValuesRepository(sql: Sql) {
  return {
    names: columns.map(({ name }) => name),
    /** The ids of the keys that encrypted the stored values, each once. */
    async keyIds(): Promise<string[]> {
      return (await sql.query<{ id: string }>(keyIds)).map(({ id }) => id);
    },
    /** How many values other keys than this one encrypted. */
    async countOthers(keyId: string): Promise<number> {
      return (await sql.query<{ values: number }>(countOthers, [keyId]))[0]!.values;
    },
    /** Values of a column that other keys than this one encrypted, ordered by row id, after `after`. */
    others: (column: number, after: string, keyId: string, limit: number): Promise<SealedValue[]> =>
      sql.query(statements[column]!.others, [after, keyId, limit]),
    /** Replaces values of a column that are still unchanged; returns how many. */
    async replace(column: number, values: { id: string; before: Buffer; after: Buffer }[]): Promise<number> {
      const rows = await sql.query(statements[column]!.replace, [
        values.map((value) => value.id),
        values.map((value) => value.before),
        values.map((value) => value.after),
      ]);
      return rows.length;
    },
  };
}
