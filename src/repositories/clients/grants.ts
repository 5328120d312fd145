// Reads and writes the table grants: the consent of users, stored until it is withdrawn.
import { batchedStatement, type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import type { Page } from './client-listing.ts';

export interface Grant {
  clientId: string;
  scope: string[];
  /** Single claims in addition to those of the scopes. */
  claims: string[];
  redirectUris: string[];
  createdAt: Date;
  clientName: string;
}

const find = batchedStatement(
  'read',
  'grants.find',
  'SELECT scope, claims, redirect_uris FROM grants WHERE sub = $1 AND client_id = $2',
);
const united = storedFunction(new URL('united.sql', import.meta.url));
const addToGrant = storedFunction(new URL('add_to_grant.sql', import.meta.url), [united]);
const add = statement('grants.add', `SELECT ${addToGrant.name}($1, $2, $3, $4, $5)`);
const list = statement(
  'grants.list',
  `SELECT g.client_id, g.scope, g.claims, g.redirect_uris, g.created_at, coalesce(c.metadata ->> 'client_name', c.client_id) AS client_name
     FROM grants g JOIN clients c USING (client_id) WHERE g.sub = $1 AND ($2::timestamptz IS NULL OR (g.created_at, g.client_id) < ($2, $3))
    ORDER BY g.created_at DESC, g.client_id DESC LIMIT $4`,
);
const withdraw = statement(
  'grants.withdraw',
  'DELETE FROM grants WHERE sub = $1 AND client_id = $2 RETURNING client_id',
);

export function grantsRepository(sql: Sql) {
  return {
    async find(sub: string, clientId: string): Promise<Pick<Grant, 'scope' | 'claims' | 'redirectUris'> | undefined> {
      const [row] = await sql.query<{ scope: string[]; claims: string[]; redirect_uris: string[] }>(find, [
        sub,
        clientId,
      ]);
      return row && { scope: row.scope, claims: row.claims, redirectUris: row.redirect_uris };
    },
    /** Adds scopes, single claims and a redirect URI, if the request had one, to what a user has granted to a client. */
    async add(
      sub: string,
      clientId: string,
      scope: string[],
      redirectUri: string | undefined,
      claims: string[],
    ): Promise<void> {
      await sql.query(add, [sub, clientId, scope, redirectUri, claims]);
    },
    async list(sub: string, page: Page = { limit: 200, after: undefined }): Promise<Grant[]> {
      const rows = await sql.query<{
        client_id: string;
        scope: string[];
        claims: string[];
        redirect_uris: string[];
        created_at: Date;
        client_name: string;
      }>(list, [sub, page.after?.at, page.after?.id, page.limit]);
      return rows.map((row) => ({
        clientId: row.client_id,
        scope: row.scope,
        claims: row.claims,
        redirectUris: row.redirect_uris,
        createdAt: row.created_at,
        clientName: row.client_name,
      }));
    },
    /** Withdraws a grant and ends everything that was issued under it. */
    async withdraw(sub: string, clientId: string): Promise<boolean> {
      return (await sql.query(withdraw, [sub, clientId])).length > 0;
    },
  };
}
