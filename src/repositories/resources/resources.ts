// Reads the resources that requests name, beside what every entity reads and writes (RFC 8707).
import { type Sql, statement } from '../../database/database.ts';
import { type Resource, resources } from '../../entities/resources.ts';
import { entityRepository, entityTable } from '../entities.ts';

// a resource of a disabled client gets no tokens
const usable = `resources r LEFT JOIN clients c ON c.client_id = r.client_id WHERE (r.client_id IS NULL OR c.status = 'enabled')`;
const findUsable = statement(
  'resources.find_usable',
  `SELECT r.* FROM ${usable} AND resource_key(r.resource) = ANY (ARRAY(SELECT resource_key(uri) FROM unnest($1::text[]) AS uri))`,
);
// one more than the limit of a request shows that a scope is ambiguous
const findByScopes = statement(
  'resources.find_by_scopes',
  `SELECT r.* FROM ${usable} AND r.scopes ?| $1::text[] ORDER BY r.resource LIMIT 100`,
);
const findScopes = statement(
  'resources.find_scopes',
  `SELECT DISTINCT value FROM unnest($1::text[]) AS value JOIN resources r ON r.scopes ? value AND (r.clients = 'approved' OR $2)`,
);
const listPublic = statement(
  'resources.list_public',
  `SELECT r.* FROM ${usable} AND r.public ORDER BY r.created_at, r.id LIMIT 1000`,
);
const table = entityTable(resources);

type Row = Record<string, unknown>;

export function resourcesRepository(sql: Sql) {
  const all = async (rows: Promise<Row[]>): Promise<Resource[]> => (await rows).map(table.toOne);
  return {
    ...entityRepository(table, sql),
    /** The resources with these URIs in any equal spelling, without those whose server is disabled. */
    findUsable: (uris: readonly string[]) => all(sql.query<Row>(findUsable, [uris])),
    /** The resources to which one of these scope values belongs, without those whose server is disabled. */
    findByScopes: (values: readonly string[]) => all(sql.query<Row>(findByScopes, [values])),
    /** Those of the values that are scopes of a resource. @param options.admin also of resources that are only for listed clients */
    async findScopes(values: readonly string[], { admin }: { admin: boolean }): Promise<string[]> {
      return (await sql.query<{ value: string }>(findScopes, [values, admin])).map((row) => row.value);
    },
    /** Those that an administrator marked public, oldest first, without those whose server is disabled. */
    listPublic: () => all(sql.query<Row>(listPublic)),
  };
}
