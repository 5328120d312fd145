// Reads and writes the tables of when each client, connection and resource was last used.
import { type Sql, statement } from '../../database/database.ts';

/** What is used, each with the condition by which a use names it: a resource by its URI, in any spelling. */
export const usedKinds = ['clients', 'connections', 'resources'] as const;
export type UsedKind = (typeof usedKinds)[number];

/** In order, so that two instances lock the rows in the same one; what a use names may have been deleted since. */
const storing = (table: string, key: string, id: string, named: string) =>
  statement(
    `uses.store.${table}`,
    `INSERT INTO ${table} AS known (${key}, used_at)
     SELECT ${id}, date_trunc('milliseconds', max(used.at)) FROM unnest($1::text[], $2::timestamptz[]) AS used (name, at) JOIN ${named}
      GROUP BY ${id} ORDER BY ${id}
     ON CONFLICT (${key}) DO UPDATE SET used_at = excluded.used_at WHERE known.used_at < excluded.used_at - interval '1 hour'`,
  );
const listing = (table: string, key: string) =>
  statement(`uses.list.${table}`, `SELECT ${key} AS id, used_at FROM ${table} WHERE ${key} = ANY($1)`);

const kinds = {
  clients: {
    store: storing('client_uses', 'client_id', 'client_id', 'clients ON client_id = used.name'),
    list: listing('client_uses', 'client_id'),
  },
  connections: {
    store: storing('connection_uses', 'connection_id', 'id', 'connections ON id = used.name'),
    list: listing('connection_uses', 'connection_id'),
  },
  resources: {
    store: storing(
      'resource_uses',
      'resource_id',
      'id',
      'resources ON resource_key(resources.resource) = resource_key(used.name)',
    ),
    list: listing('resource_uses', 'resource_id'),
  },
} as const satisfies Record<UsedKind, unknown>;

export function usesRepository(sql: Sql) {
  return {
    /** Another instance may have stored a use of the same hour: that one stays. @param uses milliseconds since 1970 by name */
    async store(kind: UsedKind, uses: ReadonlyMap<string, number>): Promise<void> {
      await sql.query(kinds[kind].store, [[...uses.keys()], [...uses.values()].map((at) => new Date(at))]);
    },
    /** When these were last used, by id; those that never were are missing. */
    async list(kind: UsedKind, ids: readonly string[]): Promise<Map<string, Date>> {
      const rows = await sql.query<{ id: string; used_at: Date }>(kinds[kind].list, [ids]);
      return new Map(rows.map(({ id, used_at: at }) => [id, at]));
    },
  };
}
