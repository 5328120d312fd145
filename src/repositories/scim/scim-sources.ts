// Reads SCIM sources and their tokens, beside what every entity reads and writes.
import { type Sql, statement } from '../../database/database.ts';
import { type ScimSource, scimSources } from '../../entities/scim-sources.ts';
import { entityRepository, entityTable } from '../entities.ts';

export interface ScimToken {
  id: string;
  createdAt: Date;
  lastUsedAt: Date | undefined;
}

interface TokenRow {
  id: string;
  created_at: Date;
  last_used_at: Date | null;
}

const table = entityTable(scimSources);
// notes the use once a minute
const authenticate = statement(
  'scim_sources.authenticate',
  `WITH used AS (
     UPDATE scim_tokens SET last_used_at = now()
      WHERE hash = $2 AND source_id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute'))
   SELECT s.* FROM scim_sources s JOIN scim_tokens t ON t.source_id = s.id WHERE s.id = $1 AND t.hash = $2 AND s.status = 'enabled'`,
);
const ofClient = statement(
  'scim_sources.of_client',
  `SELECT s.* FROM scim_sources s JOIN clients c ON c.scim_source = s.id WHERE s.id = $1 AND c.client_id = $2 AND s.status = 'enabled'`,
);
const tokens = statement(
  'scim_tokens.list',
  'SELECT id, created_at, last_used_at FROM scim_tokens WHERE source_id = $1 ORDER BY created_at, id',
);
const insertToken = statement(
  'scim_tokens.insert',
  'INSERT INTO scim_tokens (source_id, hash) VALUES ($1, $2) RETURNING id, created_at, last_used_at',
);
const removeToken = statement(
  'scim_tokens.delete',
  'DELETE FROM scim_tokens WHERE source_id = $1 AND id = $2 RETURNING id',
);
const endTrust = statement(
  'scim_sources.end_trust',
  `WITH admitted AS (
     UPDATE groups SET guarded_sources = array_remove(guarded_sources, 'scim:' || $1) WHERE 'scim:' || $1 = ANY (guarded_sources))
   UPDATE clients SET scim_source = NULL WHERE scim_source = $1`,
);

const toToken = ({ id, created_at: createdAt, last_used_at: lastUsedAt }: TokenRow): ScimToken => ({
  id,
  createdAt,
  lastUsedAt: lastUsedAt ?? undefined,
});

export function scimSourcesRepository(sql: Sql) {
  return {
    ...entityRepository(table, sql),
    /** The enabled source with this token, whose use it notes. */
    async authenticate(id: string, tokenHash: Buffer): Promise<ScimSource | undefined> {
      const [row] = await sql.query<Record<string, unknown>>(authenticate, [id, tokenHash]);
      return row && table.toOne(row);
    },
    /** The enabled source that an administrator gave to a client. */
    async ofClient(id: string, clientId: string): Promise<ScimSource | undefined> {
      const [row] = await sql.query<Record<string, unknown>>(ofClient, [id, clientId]);
      return row && table.toOne(row);
    },
    /** The oldest first. */
    tokens: async (id: string): Promise<ScimToken[]> => (await sql.query<TokenRow>(tokens, [id])).map(toToken),
    async insertToken(id: string, hash: Buffer): Promise<ScimToken> {
      return toToken((await sql.query<TokenRow>(insertToken, [id, hash]))[0]!);
    },
    removeToken: async (id: string, token: string): Promise<boolean> =>
      (await sql.query(removeToken, [id, token])).length > 0,
    /** No guarded group admits the source any more, and no client opens it. */
    async endTrust(id: string): Promise<void> {
      await sql.query(endTrust, [id]);
    },
  };
}
