// Reads the types of authorization details that requests name, beside what every entity reads and writes (RFC 9396).
import { type Sql, statement } from '../../database/database.ts';
import {
  authorizationDetailsTypes,
  type AuthorizationDetailsType,
} from '../../entities/authorization-details-types.ts';
import { entityRepository, entityTable } from '../entities.ts';

const table = entityTable(authorizationDetailsTypes);
const enabled = statement(
  'authorization_details_types.enabled',
  `SELECT t.* FROM authorization_details_types t WHERE t.type = ANY ($1) AND t.status = 'enabled'`,
);
const names = statement(
  'authorization_details_types.names',
  `SELECT type FROM authorization_details_types WHERE status = 'enabled' ORDER BY type LIMIT 1000`,
);

export function authorizationDetailsTypesRepository(sql: Sql) {
  return {
    ...entityRepository(table, sql),
    /** The enabled ones of these types. */
    async enabled(types: readonly string[]): Promise<AuthorizationDetailsType[]> {
      return (await sql.query<Record<string, unknown>>(enabled, [types])).map(table.toOne);
    },
    /** The names of all enabled types. */
    async names(): Promise<string[]> {
      return (await sql.query<{ type: string }>(names)).map(({ type }) => type);
    },
  };
}
