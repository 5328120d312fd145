// Reads and writes the table connections: providers and directories that identify users.
import { type Sql, statement } from '../../database/database.ts';
import { type Connection, connections } from '../../entities/connections.ts';
import { entityRepository, entityTable } from '../entities.ts';

/** The number of sessions that a change has ended: those of browsers, and those of clients, each with its tokens. */
export interface EndedAccess {
  sessions: number;
  tokens: number;
}

const table = entityTable(connections);
// a sign-in that decides about an identity, and an administrator's change of the connection, wait for each other
const hold = statement('connections.hold', 'SELECT FROM connections WHERE id = $1 FOR KEY SHARE');
const clientNaming = statement(
  'connections.client_naming',
  'SELECT client_id AS "clientId" FROM clients WHERE connections @> ARRAY[$1] ORDER BY client_id LIMIT 1',
);
// not the lock of a change: it would wait for sign-ins that wait for the group
const lockNaming = statement(
  'connections.lock_naming',
  `SELECT * FROM connections WHERE default_groups @> ARRAY[$1] OR group_rules @> $2::jsonb ORDER BY id FOR NO KEY UPDATE`,
);
const disable = statement(
  'connections.disable',
  `UPDATE connections SET status = 'disabled', version = version + 1 WHERE id = $1`,
);
// administrators must decide anew to trust another connection of the same id (federation F27)
const endTrust = statement(
  'connections.end_trust',
  `WITH admitted AS (UPDATE groups SET guarded_sources = array_remove(guarded_sources, $1) WHERE $1 = ANY (guarded_sources))
   UPDATE clients SET upstream_tokens = array_remove(upstream_tokens, $1) WHERE $1 = ANY (upstream_tokens)`,
);
// domains are changed one at a time: two changes that wait for each other's domains would deadlock. The number of the lock is arbitrary.
const lockDomains = statement('connections.lock_domains', 'SELECT pg_advisory_xact_lock(7106348)');
const wantedDomains = `SELECT 'route' AS purpose, unnest($2::text[]) AS domain UNION SELECT 'authority', unnest($3::text[])`;
const dropDomains = statement(
  'connections.drop_domains',
  `DELETE FROM connection_domains WHERE connection_id = $1 AND (purpose, domain) NOT IN (${wantedDomains})`,
);
// by the primary key, a domain belongs to one connection only
const keepDomains = statement(
  'connections.keep_domains',
  `INSERT INTO connection_domains (purpose, domain, connection_id) SELECT purpose, domain, $1 FROM (${wantedDomains}) AS wanted ON CONFLICT DO NOTHING`,
);
const holders = statement(
  'connections.holders',
  `SELECT connection_id AS id FROM connection_domains
    WHERE connection_id <> $1 AND (purpose, domain) IN (${wantedDomains}) ORDER BY 1 LIMIT 1`,
);
const setKey = statement(
  'connections.set_key',
  'UPDATE connections SET key_encrypted = $2, key_public = $3, key_since = now() WHERE id = $1',
);
// metadata that was read for other settings is not stored
const setDiscovery = statement(
  'connections.set_discovery',
  `UPDATE connections SET discovery = $2, discovered_at = now() WHERE id = $1 AND settings = $3`,
);
// ends the sessions that came by the connection, those of one user or of all
const endSessions = statement(
  'connections.end_sessions',
  `DELETE FROM sessions WHERE id IN (
     SELECT id FROM sessions WHERE connection_id = $1 AND ($2::text IS NULL OR sub = $2) ORDER BY id FOR UPDATE)
   RETURNING sid, sub`,
);
const countClientSessions = statement(
  'connections.count_client_sessions',
  'SELECT count(*)::int AS tokens FROM client_sessions WHERE connection_id = $1 AND ($2::text IS NULL OR sub = $2) AND expires_at > now()',
);
// a second statement also finds tokens that were issued while the first one waited; those with offline_access outlive the browser's session (security R159)
const endClientSessions = statement(
  'connections.end_client_sessions',
  `DELETE FROM client_sessions WHERE id IN (
     SELECT id FROM client_sessions WHERE connection_id = $1 AND ($2::text IS NULL OR sub = $2) ORDER BY id FOR UPDATE)`,
);
const keepTokens = statement(
  'connections.keep_tokens',
  `SELECT EXISTS (SELECT FROM connections WHERE store_tokens AND status <> 'disabled') AS kept`,
);
const withoutOtherWay = statement(
  'connections.without_other_way',
  `SELECT count(*)::int AS people FROM linked_identities l JOIN users u ON u.sub = l.sub
    WHERE l.connection_id = $1 AND u.password_hash IS NULL AND NOT EXISTS (SELECT FROM passkeys p WHERE p.sub = u.sub)
      AND NOT EXISTS (SELECT FROM linked_identities o JOIN connections c ON c.id = o.connection_id AND c.status = 'enabled'
                       WHERE o.sub = u.sub AND o.connection_id <> $1)`,
);

export function connectionsRepository(sql: Sql) {
  return {
    /** The list is in the order of the sign-in page. */
    ...entityRepository(table, sql),
    /** In a transaction: no administrator changes or deletes the connection until the transaction ends. */
    async hold(id: string): Promise<void> {
      await sql.query(hold, [id]);
    },
    /** The id of a client that only users of this connection, or of those beside it, may use. */
    async clientNaming(id: string): Promise<string | undefined> {
      return (await sql.query<{ clientId: string }>(clientNaming, [id]))[0]?.clientId;
    },
    /** In a transaction: locks the connections whose rules or default groups name a group. */
    async lockNaming(group: string): Promise<Connection[]> {
      const values = [group, JSON.stringify([{ group }])];
      return (await sql.query<Record<string, unknown>>(lockNaming, values)).map(table.toOne);
    },
    /** In a transaction that holds the row: disables the connection, so that no user can sign in by it. */
    async disable(id: string): Promise<void> {
      await sql.query(disable, [id]);
    },
    /** In a transaction, before the deletion: removes the connection from all guarded groups and clients that name it. */
    async endTrust(id: string): Promise<void> {
      await sql.query(endTrust, [id]);
    },
    /** In a transaction, before it locks the connection: no other transaction changes domains until this one ends. */
    async lockDomains(): Promise<void> {
      await sql.query(lockDomains);
    },
    /** In a transaction that holds the lock of domains: gives the connection these domains. @returns another connection that has one of them */
    async keepDomains(
      id: string,
      domains: readonly string[],
      authoritative: readonly string[],
    ): Promise<string | undefined> {
      const values = [id, domains, authoritative];
      await sql.query(dropDomains, values);
      await sql.query(keepDomains, values);
      const [row] = await sql.query<{ id: string }>(holders, values);
      return row?.id;
    },
    /** Replaces the key of the connection. */
    async setKey(id: string, sealed: Buffer, publicKey: Record<string, unknown>): Promise<void> {
      await sql.query(setKey, [id, sealed, publicKey]);
    },
    /** Stores the provider's metadata, if the settings have not changed since it was read. */
    async setDiscovery(
      id: string,
      discovery: Record<string, unknown>,
      settings: Record<string, unknown>,
    ): Promise<void> {
      await sql.query(setDiscovery, [id, discovery, settings]);
    },
    /** In a transaction: ends the sessions that came by a connection, and all tokens of clients that came by it. */
    async endSessions(id: string, sub?: string): Promise<EndedAccess> {
      const before = await sql.query<{ tokens: number }>(countClientSessions, [id, sub]);
      const sessions = await sql.query(endSessions, [id, sub]);
      await sql.query(endClientSessions, [id, sub]);
      return { sessions: sessions.length, tokens: before[0]!.tokens };
    },
    /** Whether any open connection keeps tokens. */
    async keepTokens(): Promise<boolean> {
      const [row] = await sql.query<{ kept: boolean }>(keepTokens);
      return row!.kept;
    },
    /** The number of users who have no other way to sign in. */
    async withoutOtherWay(id: string): Promise<number> {
      const [row] = await sql.query<{ people: number }>(withoutOtherWay, [id]);
      return row!.people;
    },
  };
}
