// Reads connected servers, beside what every entity reads and writes (draft-ietf-oauth-identity-assertion-authz-grant).
import { type Sql, statement } from '../../database/database.ts';
import { type ConnectedServer, connectedServers } from '../../entities/connected-servers.ts';
import { entityRepository, entityTable } from '../entities.ts';

const table = entityTable(connectedServers);
const byIssuer = statement(
  'connected_servers.by_issuer',
  `SELECT s.* FROM connected_servers s WHERE s.issuer = $1 AND s.status = 'enabled'`,
);
// by id, so that two changes of groups lock the same servers in the same order
const lockNaming = statement(
  'connected_servers.lock_naming',
  `SELECT s.* FROM connected_servers s WHERE s.clients @> $1::jsonb ORDER BY s.id FOR UPDATE`,
);

export function connectedServersRepository(sql: Sql) {
  return {
    ...entityRepository(table, sql),
    /** The enabled server of this name, character by character. */
    async byIssuer(issuer: string): Promise<ConnectedServer | undefined> {
      const [row] = await sql.query<Record<string, unknown>>(byIssuer, [issuer]);
      return row && table.toOne(row);
    },
    /** In a transaction: locks the servers with an entry that names a group. */
    async lockNaming(group: string): Promise<ConnectedServer[]> {
      const entry = JSON.stringify([{ groups: [group] }]);
      return (await sql.query<Record<string, unknown>>(lockNaming, [entry])).map(table.toOne);
    },
  };
}
