// Reads trusted issuers and the users that they name, beside what every entity reads and writes (RFC 7523).
import { type Sql, statement } from '../../database/database.ts';
import { type TrustedIssuer, trustedIssuers } from '../../entities/trusted-issuers.ts';
import { entityRepository, entityTable } from '../entities.ts';

const table = entityTable(trustedIssuers);
const byIssuer = statement(
  'trusted_issuers.by_issuer',
  `SELECT i.* FROM trusted_issuers i WHERE i.issuer = $1 AND i.status = 'enabled'`,
);
// its client sessions have the issuer in place of a connection
const endTokens = statement(
  'trusted_issuers.end_tokens',
  `DELETE FROM client_sessions WHERE connection_id = 'issuer:' || $1`,
);
const any = statement(
  'trusted_issuers.any',
  `SELECT EXISTS (SELECT FROM trusted_issuers WHERE status = 'enabled') AS found`,
);
// a link that the service made by the domain of an address was made by no user and no administrator (security R146)
const linkedUser = statement(
  'trusted_issuers.linked_user',
  `SELECT coalesce(
     (SELECT link ->> 'user' FROM trusted_issuers i, jsonb_array_elements(i.links) AS link WHERE i.id = $1 AND link ->> 'subject' = $3 LIMIT 1),
     (SELECT l.sub FROM linked_identities l JOIN connections c ON c.id = l.connection_id AND c.status = 'enabled'
       WHERE l.issuer = $2 AND l.subject = $3 AND l.how <> 'domain' ORDER BY l.id LIMIT 1)) AS sub`,
);

export function trustedIssuersRepository(sql: Sql) {
  return {
    ...entityRepository(table, sql),
    /** The enabled issuer of this name, character by character. */
    async byIssuer(issuer: string): Promise<TrustedIssuer | undefined> {
      const [row] = await sql.query<Record<string, unknown>>(byIssuer, [issuer]);
      return row && table.toOne(row);
    },
    /** Ends what its assertions got. */
    async endTokens(id: string): Promise<void> {
      await sql.query(endTokens, [id]);
    },
    /** Whether any issuer is enabled: without one the service offers no grant by assertions. */
    async any(): Promise<boolean> {
      return (await sql.query<{ found: boolean }>(any))[0]!.found;
    },
    /** The user that was linked to a subject of an issuer: by an administrator here, or by a connection of the same issuer. */
    async linkedUser({ id, issuer }: TrustedIssuer, subject: string): Promise<string | undefined> {
      return (await sql.query<{ sub: string | null }>(linkedUser, [id, issuer, subject]))[0]!.sub ?? undefined;
    },
  };
}
