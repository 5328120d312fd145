// Reads connected servers, beside what every entity reads and writes (draft-ietf-oauth-identity-assertion-authz-grant).
import { type Sql, statement } from '../../database/database.ts';
import { type ConnectedServer, connectedServers } from '../../entities/connected-servers.ts';
import { entityRepository, entityTable } from '../entities.ts';

const table = entityTable(connectedServers);
const byIssuer = statement(
  'connected_servers.by_issuer',
  `SELECT s.* FROM connected_servers s WHERE s.issuer = $1 AND s.status = 'enabled'`,
);

export function connectedServersRepository(sql: Sql) {
  return {
    ...entityRepository(table, sql),
    /** The enabled server of this name, character by character. */
    async byIssuer(issuer: string): Promise<ConnectedServer | undefined> {
      const [row] = await sql.query<Record<string, unknown>>(byIssuer, [issuer]);
      return row && table.toOne(row);
    },
  };
}
