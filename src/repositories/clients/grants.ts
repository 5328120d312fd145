// Reads and writes the table grants: the consent of users, stored until it is withdrawn.
import { batchedStatement, type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import type { Granted } from '../../oauth/granted.ts';
import type { AuthorizationDetailsType } from '../../entities/authorization-details-types.ts';
import type { ResourceScopes } from '../../entities/resources.ts';
import type { Page } from './client-listing.ts';

export interface Grant extends Granted {
  clientId: string;
  redirectUris: string[];
  createdAt: Date;
  clientName: string;
}

/** What a request is compared with. */
export type GrantParts = Granted & Pick<Grant, 'redirectUris'>;

/** A grant with the names of its resources. */
export interface ListedGrant extends Grant {
  apis: {
    resource: string;
    name: string;
    scopes: ResourceScopes;
    /** The granted values. */ scope: readonly string[];
  }[];
  /** The types of its details that exist, enabled or not. */
  detailTypes: DetailWords[];
  /** The file name of the client's uploaded logo. */
  logo: string | undefined;
}

/** A type of authorization details, as far as pages show its objects. */
export type DetailWords = Pick<AuthorizationDetailsType, 'type' | 'text' | 'schema'>;

interface Row {
  client_id: string;
  granted: Granted;
  redirect_uris: string[];
  created_at: Date;
  client_name: string;
  logo: string | null;
  apis: { id: string; resource: string; name: string; scopes: ResourceScopes }[] | null;
  detail_types: DetailWords[] | null;
}

const find = batchedStatement(
  'read',
  'grants.find',
  'SELECT granted, redirect_uris FROM grants WHERE sub = $1 AND client_id = $2',
);
const united = storedFunction(new URL('united.sql', import.meta.url));
const addToGrant = storedFunction(new URL('add_to_grant.sql', import.meta.url), [united]);
const add = statement('grants.add', `SELECT ${addToGrant.name}($1, $2, $3, $4)`);
const list = statement(
  'grants.list',
  `SELECT g.client_id, g.granted, g.redirect_uris, g.created_at, coalesce(c.metadata ->> 'client_name', c.client_id) AS client_name, c.logo,
          CASE WHEN g.granted -> 'resources' <> '{}' THEN (
            SELECT jsonb_agg(jsonb_build_object('id', r.id, 'resource', r.resource, 'name', r.name, 'scopes', r.scopes) ORDER BY r.name, r.id)
              FROM resources r WHERE g.granted -> 'resources' ? r.id) END AS apis,
          CASE WHEN g.granted ? 'details' THEN (
            SELECT jsonb_agg(jsonb_build_object('type', t.type, 'text', t.text, 'schema', t.schema)) FROM authorization_details_types t
             WHERE t.type IN (SELECT one ->> 'type' FROM jsonb_array_elements(g.granted -> 'details') AS each (one))) END AS detail_types
     FROM grants g JOIN clients c USING (client_id) WHERE g.sub = $1 AND ($2::timestamptz IS NULL OR (g.created_at, g.client_id) < ($2, $3))
    ORDER BY g.created_at DESC, g.client_id DESC LIMIT $4`,
);
const withdraw = statement(
  'grants.withdraw',
  'DELETE FROM grants WHERE sub = $1 AND client_id = $2 RETURNING client_id',
);

export function grantsRepository(sql: Sql) {
  return {
    async find(sub: string, clientId: string): Promise<GrantParts | undefined> {
      const [row] = await sql.query<Pick<Row, 'granted' | 'redirect_uris'>>(find, [sub, clientId]);
      return row && { ...row.granted, redirectUris: row.redirect_uris };
    },
    /** Adds to what a user has granted to a client. @param redirectUri of the request, if it had one */
    async add(sub: string, clientId: string, added: Granted, redirectUri: string | undefined): Promise<void> {
      await sql.query(add, [sub, clientId, added, redirectUri]);
    },
    async list(sub: string, page: Page = { limit: 200, after: undefined }): Promise<ListedGrant[]> {
      const rows = await sql.query<Row>(list, [sub, page.after?.at, page.after?.id, page.limit]);
      return rows.map((row) => ({
        clientId: row.client_id,
        ...row.granted,
        redirectUris: row.redirect_uris,
        apis: (row.apis ?? []).map(({ id, resource, name, scopes }) => ({
          resource,
          name,
          scopes,
          scope: row.granted.resources[id]!,
        })),
        detailTypes: row.detail_types ?? [],
        createdAt: row.created_at,
        clientName: row.client_name,
        logo: row.logo ?? undefined,
      }));
    },
    /** Withdraws a grant and ends everything that was issued under it. */
    async withdraw(sub: string, clientId: string): Promise<boolean> {
      return (await sql.query(withdraw, [sub, clientId])).length > 0;
    },
  };
}
