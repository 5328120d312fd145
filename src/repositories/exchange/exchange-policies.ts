// Reads the exchange policies of a client, beside what every entity reads and writes (RFC 8693).
import { type Sql, statement } from '../../database/database.ts';
import { exchangePolicies, type ExchangePolicy } from '../../entities/exchange-policies.ts';
import { entityRepository, entityTable } from '../entities.ts';

const table = entityTable(exchangePolicies);
const ofClient = statement(
  'exchange_policies.of_client',
  `SELECT p.* FROM exchange_policies p WHERE p.client_id = $1 AND p.status = 'enabled' ORDER BY p.name LIMIT 1000`,
);
const any = statement(
  'exchange_policies.any',
  `SELECT EXISTS (SELECT FROM exchange_policies WHERE status = 'enabled') AS found`,
);

export function exchangePoliciesRepository(sql: Sql) {
  return {
    ...entityRepository(table, sql),
    /** The enabled policies of a client, by name. */
    async ofClient(clientId: string): Promise<ExchangePolicy[]> {
      return (await sql.query<Record<string, unknown>>(ofClient, [clientId])).map(table.toOne);
    },
    /** Whether any policy is enabled: without one the service offers no exchange. */
    async any(): Promise<boolean> {
      return (await sql.query<{ found: boolean }>(any))[0]!.found;
    },
  };
}
