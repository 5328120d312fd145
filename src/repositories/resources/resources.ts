// Reads and writes the table resources: APIs with scopes of their own, for which clients request tokens (RFC 8707).
import { isUniqueViolation, type Sql, statement } from '../../database/database.ts';
import type { ResourceBinding } from '../../oauth/binding.ts';
import type { SigningKeyRow } from '../keys/signing-keys.ts';
import type { Page } from '../clients/client-listing.ts';

/** The descriptions of each scope value, by language. */
export type ResourceScopes = Record<string, Record<string, string>>;

/** `listed`: clients that are registered for one of its scopes; `approved`: every enabled client. */
export const resourceClients = ['listed', 'approved'] as const;

export const accessTokenFormats = ['opaque', 'jwt'] as const;

export interface Resource {
  id: string;
  /** The URI, as the audience of tokens names it. */
  resource: string;
  name: string;
  /** The client that introspects its tokens, if any. */
  clientId: string | undefined;
  /** A client registered it in resource_uris, and no administrator has changed it. */
  registered: boolean;
  scopes: ResourceScopes;
  clients: (typeof resourceClients)[number];
  accessTokenFormat: (typeof accessTokenFormats)[number];
  /** Of JWT access tokens. */
  accessTokenSigningAlg: SigningKeyRow['alg'];
  /** In seconds; undefined for that of the client. */
  accessTokenLifetime: number | undefined;
  /** To what kind of key its tokens must be bound. */
  binding: ResourceBinding;
  /** The authentication level that users must reach; undefined for any. */
  requiredAcr: string | undefined;
  /** Everyone may know that it exists: the metadata of the service name it. */
  public: boolean;
  /** The claims of users that its JWT access tokens contain, as far as their scope releases them. */
  tokenClaims: string[];
  createdAt: Date;
}

export type NewResource = Omit<Resource, 'id' | 'registered' | 'createdAt'>;

interface Row {
  id: string;
  resource: string;
  name: string;
  client_id: string | null;
  registered: boolean;
  scopes: ResourceScopes;
  clients: Resource['clients'];
  access_token_format: Resource['accessTokenFormat'];
  access_token_signing_alg: Resource['accessTokenSigningAlg'];
  access_token_lifetime: number | null;
  binding: ResourceBinding;
  required_acr: string | null;
  public: boolean;
  token_claims: string[];
  created_at: Date;
}

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
const find = statement(
  'resources.find',
  'SELECT * FROM resources WHERE id = $1 OR resource_key(resource) = resource_key($1)',
);
const lock = statement(
  'resources.lock',
  'SELECT * FROM resources WHERE id = $1 OR resource_key(resource) = resource_key($1) FOR UPDATE',
);
const list = statement(
  'resources.list',
  `SELECT * FROM resources WHERE $1::timestamptz IS NULL OR (created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT $3`,
);
/** Tells all instances, which keep the public resources in memory. */
const tell = `SELECT pg_notify('gatehouse', 'resources')`;
const insert = statement(
  'resources.insert',
  `WITH told AS (${tell}) INSERT INTO resources (resource, name, client_id, scopes, clients, access_token_lifetime, access_token_format,
     access_token_signing_alg, required_acr, binding, public, token_claims)
   SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 FROM told RETURNING *`,
);
const update = statement(
  'resources.update',
  `WITH told AS (${tell}) UPDATE resources SET name = $2, client_id = $3, scopes = $4, clients = $5, access_token_lifetime = $6,
     access_token_format = $7, access_token_signing_alg = $8, required_acr = $9, binding = $10, public = $11, token_claims = $12, registered = false
     FROM told WHERE id = $1 RETURNING resources.*`,
);
const remove = statement('resources.delete', `WITH told AS (${tell}) DELETE FROM resources USING told WHERE id = $1`);

export function resourcesRepository(sql: Sql) {
  const one = async (rows: Promise<Row[]>): Promise<Resource | undefined> => {
    const [row] = await rows;
    return row && toResource(row);
  };
  return {
    /** The resources with these URIs in any equal spelling, without those whose server is disabled. */
    async findUsable(uris: readonly string[]): Promise<Resource[]> {
      return (await sql.query<Row>(findUsable, [uris])).map(toResource);
    },
    /** The resources to which one of these scope values belongs, without those whose server is disabled. */
    async findByScopes(values: readonly string[]): Promise<Resource[]> {
      return (await sql.query<Row>(findByScopes, [values])).map(toResource);
    },
    /** Those of the values that are scopes of a resource. @param options.admin also of resources that are only for listed clients */
    async findScopes(values: readonly string[], { admin }: { admin: boolean }): Promise<string[]> {
      return (await sql.query<{ value: string }>(findScopes, [values, admin])).map((row) => row.value);
    },
    /** @param name the id or the URI */
    find: (name: string): Promise<Resource | undefined> => one(sql.query<Row>(find, [name])),
    /** Finds the row and locks it until the transaction ends. @param name the id or the URI */
    lock: (name: string): Promise<Resource | undefined> => one(sql.query<Row>(lock, [name])),
    /** Those that an administrator marked public, oldest first, without those whose server is disabled. */
    async listPublic(): Promise<Resource[]> {
      return (await sql.query<Row>(listPublic)).map(toResource);
    },
    /** Newest first. */
    async list({ limit, after }: Page): Promise<Resource[]> {
      return (await sql.query<Row>(list, [after?.at, after?.id, limit])).map(toResource);
    },
    /** Undefined when another resource has an equal URI. */
    async insert(made: NewResource): Promise<Resource | undefined> {
      const values = [made.resource, ...valuesOf(made)];
      return one(sql.query<Row>(insert, values)).catch((error: unknown) => {
        if (isUniqueViolation(error)) return undefined;
        throw error;
      });
    },
    async update(id: string, changed: Omit<NewResource, 'resource'>): Promise<Resource | undefined> {
      const values = [id, ...valuesOf(changed)];
      return one(sql.query<Row>(update, values));
    },
    async delete(id: string): Promise<void> {
      await sql.query(remove, [id]);
    },
  };
}

const valuesOf = (made: Omit<NewResource, 'resource'>): unknown[] => [
  ...[made.name, made.clientId, made.scopes, made.clients, made.accessTokenLifetime],
  ...[made.accessTokenFormat, made.accessTokenSigningAlg, made.requiredAcr],
  ...[made.binding, made.public, made.tokenClaims],
];

function toResource(row: Row): Resource {
  return {
    id: row.id,
    resource: row.resource,
    name: row.name,
    clientId: row.client_id ?? undefined,
    registered: row.registered,
    scopes: row.scopes,
    clients: row.clients,
    accessTokenFormat: row.access_token_format,
    accessTokenSigningAlg: row.access_token_signing_alg,
    accessTokenLifetime: row.access_token_lifetime ?? undefined,
    requiredAcr: row.required_acr ?? undefined,
    binding: row.binding,
    public: row.public,
    tokenClaims: row.token_claims,
    createdAt: row.created_at,
  };
}
