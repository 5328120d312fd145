// Ends what users have of clients that they may no longer use, and follows the groups that admit users (columns access and access_groups).
import { type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';

const endAccess = storedFunction(new URL('end_access.sql', import.meta.url));
const end = statement('client_access.end', `SELECT ${endAccess.name}($1, $2) AS ended`);
const findLost = statement(
  'client_access.find_lost',
  `SELECT DISTINCT u.sub FROM clients c, users u, (
      SELECT sub, connection_id FROM client_sessions WHERE client_id = $1
      UNION SELECT s.sub, s.connection_id FROM session_clients sc JOIN sessions s ON s.id = sc.session_id WHERE sc.client_id = $1) AS held
    WHERE c.client_id = $1 AND u.sub = held.sub
      AND NOT (has_access(u.groups, c.access, c.access_groups) AND comes_by(c.connections, held.connection_id))
    LIMIT $2`,
);
const snapshot = statement('client_access.snapshot', 'SELECT pg_current_snapshot()::text AS snapshot');
const isOver = statement(
  'client_access.is_over',
  'SELECT pg_snapshot_xmin(pg_current_snapshot()) >= pg_snapshot_xmax($1::pg_snapshot) AS over',
);
const renameGroup = statement(
  'client_access.rename_group',
  `UPDATE clients SET access_groups = CASE WHEN $2 = ANY (access_groups) THEN array_remove(access_groups, $1) ELSE array_replace(access_groups, $1, $2) END
    WHERE access_groups @> ARRAY[$1] RETURNING client_id, version`,
);
const addGroup = statement(
  'client_access.add_group',
  `UPDATE clients SET access_groups = array_append(access_groups, $2)
    WHERE access_groups @> ARRAY[$1] AND NOT $2 = ANY (access_groups) RETURNING client_id, version`,
);
const removeGroup = statement(
  'client_access.remove_group',
  `UPDATE clients SET access_groups = array_remove(access_groups, $1) WHERE access_groups @> ARRAY[$1] RETURNING client_id, version`,
);

interface Changed {
  clientId: string;
  version: number;
}

export function clientAccessRepository(sql: Sql) {
  const changed = async (rows: Promise<{ client_id: string; version: number }[]>): Promise<Changed[]> =>
    (await rows).map((row) => ({ clientId: row.client_id, version: row.version }));
  return {
    /** Ends what these users have of a client, if they may no longer use it. Returns how many had something. */
    async end(clientId: string, subs: readonly string[]): Promise<number> {
      const [row] = await sql.query<{ ended: number }>(end, [clientId, subs]);
      return row!.ended;
    },
    /** Users who still have something of a client that they may no longer use, `limit` at most. */
    async findLost(clientId: string, limit: number): Promise<string[]> {
      return (await sql.query<{ sub: string }>(findLost, [clientId, limit])).map(({ sub }) => sub);
    },
    /** Names the transactions that write now, for `isOver`. */
    async snapshot(): Promise<string> {
      return (await sql.query<{ snapshot: string }>(snapshot))[0]!.snapshot;
    },
    /** Whether each transaction that wrote at the time of a snapshot has ended, so that all that it stored can be seen. */
    async isOver(before: string): Promise<boolean> {
      return (await sql.query<{ over: boolean }>(isOver, [before]))[0]!.over;
    },
    /** Admits a second group to each client that admits the first one. Returns the changed clients. */
    addGroup: (name: string, second: string): Promise<Changed[]> => changed(sql.query(addGroup, [name, second])),
    /** Admits one group in the place of another. Returns the changed clients. */
    renameGroup: (name: string, to: string): Promise<Changed[]> => changed(sql.query(renameGroup, [name, to])),
    /** Removes a group from the clients that admit it: one without any group then admits no user. Returns the changed clients. */
    removeGroup: (name: string): Promise<Changed[]> => changed(sql.query(removeGroup, [name])),
  };
}
