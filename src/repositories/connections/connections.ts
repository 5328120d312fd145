// Reads and writes the table connections: places outside that say who a user is.
import { isUniqueViolation, type Sql, statement } from '../../database/database.ts';

export const connectionKinds = ['oidc', 'oauth', 'saml', 'ldap'] as const;
export const connectionStatuses = ['enabled', 'disabled', 'link_only'] as const;
export const linkings = ['never', 'ask', 'domain'] as const;
export const provisionings = ['off', 'invited', 'on'] as const;
export const syncs = ['first', 'always', 'never'] as const;
export const logouts = ['local', 'propagate'] as const;

/** Where a claim of the user comes from: a path of names in the answer. */
export interface ClaimRule {
  to: string;
  from: string;
  default?: string | undefined;
}

/** The group for a value that the answer names. With `all`, each value is a group, after the prefix. */
export type GroupRule =
  | { equals: string; group: string }
  | { dn: string; group: string }
  | { starts_with: string; group: string }
  | { all: true; prefix: string };

/** How much a change has ended: the sessions of browsers, and those of clients, each with its tokens. */
export interface EndedAccess {
  sessions: number;
  tokens: number;
}

/** The members that an administrator sets, beside the secret. */
export interface ConnectionMembers {
  displayName: string;
  status: (typeof connectionStatuses)[number];
  position: number;
  hidden: boolean;
  domains: string[];
  subdomains: boolean;
  enforced: boolean;
  authoritativeDomains: string[];
  linking: (typeof linkings)[number];
  provisioning: (typeof provisionings)[number];
  usernameFrom: string;
  /** Whether the user name of a new user is the part of the value before the @. */
  usernameLocalPart: boolean;
  /** Whether a number is added to the user name of a new user if the name is taken. */
  usernameSuffix: boolean;
  claimRules: ClaimRule[];
  groupRules: GroupRule[];
  defaultGroups: string[];
  sync: (typeof syncs)[number];
  /** Whether its word that an address is verified makes it confirmed for applications (security R157). */
  trustEmail: boolean;
  trustMfa: boolean;
  mfaValues: string[];
  /** In seconds; undefined for that of the service. */
  sessionLifetime: number | undefined;
  logout: (typeof logouts)[number];
  storeTokens: boolean;
  settings: Record<string, unknown>;
}

export interface Connection extends ConnectionMembers {
  id: string;
  kind: (typeof connectionKinds)[number];
  preset: string | undefined;
  secretEncrypted: Buffer | undefined;
  secretSince: Date | undefined;
  /** The key by which this service authenticates there: a private JWK, and its public half, which is published. */
  keyEncrypted: Buffer | undefined;
  keyPublic: Record<string, unknown> | undefined;
  keySince: Date | undefined;
  /** What the other side last published. */
  discovery: Record<string, unknown> | undefined;
  discoveredAt: Date | undefined;
  version: number;
  createdAt: Date;
  updatedAt: Date;
}

interface Row {
  id: string;
  kind: Connection['kind'];
  preset: string | null;
  display_name: string;
  status: Connection['status'];
  position: number;
  hidden: boolean;
  domains: string[];
  subdomains: boolean;
  enforced: boolean;
  authoritative_domains: string[];
  linking: Connection['linking'];
  provisioning: Connection['provisioning'];
  username_from: string;
  username_local_part: boolean;
  username_suffix: boolean;
  claim_rules: ClaimRule[];
  group_rules: GroupRule[];
  default_groups: string[];
  sync: Connection['sync'];
  trust_email: boolean;
  trust_mfa: boolean;
  mfa_values: string[];
  session_lifetime: number | null;
  logout: Connection['logout'];
  store_tokens: boolean;
  settings: Record<string, unknown>;
  secret_encrypted: Buffer | null;
  secret_since: Date | null;
  key_encrypted: Buffer | null;
  key_public: Record<string, unknown> | null;
  key_since: Date | null;
  discovery: Record<string, unknown> | null;
  discovered_at: Date | null;
  version: number;
  created_at: Date;
  updated_at: Date;
}

const list = statement('connections.list', 'SELECT * FROM connections ORDER BY position, id LIMIT 1000');
const find = statement('connections.find', 'SELECT * FROM connections WHERE id = $1');
const lock = statement('connections.lock', 'SELECT * FROM connections WHERE id = $1 FOR UPDATE');
// a change of the connection waits for the sign-ins that are on their way, and they for it
const hold = statement('connections.hold', 'SELECT FROM connections WHERE id = $1 FOR KEY SHARE');
const disable = statement(
  'connections.disable',
  `UPDATE connections SET status = 'disabled', version = version + 1 WHERE id = $1`,
);
// another connection of the same id must be trusted anew (federation F27)
const endTrust = statement(
  'connections.end_trust',
  `WITH admitted AS (UPDATE groups SET guarded_sources = array_remove(guarded_sources, $1) WHERE $1 = ANY (guarded_sources))
   UPDATE clients SET upstream_tokens = array_remove(upstream_tokens, $1) WHERE $1 = ANY (upstream_tokens)`,
);
// one change of domains at a time: two that wait for each other's domains would be a deadlock. An arbitrary constant identifies this advisory lock.
const lockDomains = statement('connections.lock_domains', 'SELECT pg_advisory_xact_lock(7106348)');
const wantedDomains = `SELECT 'route' AS purpose, unnest($2::text[]) AS domain UNION SELECT 'authority', unnest($3::text[])`;
const dropDomains = statement(
  'connections.drop_domains',
  `DELETE FROM connection_domains WHERE connection_id = $1 AND (purpose, domain) NOT IN (${wantedDomains})`,
);
// the primary key lets a domain belong to one connection only
const keepDomains = statement(
  'connections.keep_domains',
  `INSERT INTO connection_domains (purpose, domain, connection_id) SELECT purpose, domain, $1 FROM (${wantedDomains}) AS wanted ON CONFLICT DO NOTHING`,
);
const holders = statement(
  'connections.holders',
  `SELECT connection_id AS id FROM connection_domains
    WHERE connection_id <> $1 AND (purpose, domain) IN (${wantedDomains}) ORDER BY 1 LIMIT 1`,
);
const insert = statement(
  'connections.insert',
  `INSERT INTO connections (id, display_name, status, position, hidden, domains, subdomains, enforced, authoritative_domains, linking,
     provisioning, username_from, claim_rules, group_rules, default_groups, sync, trust_mfa, mfa_values, session_lifetime, logout,
     store_tokens, settings, trust_email, username_local_part, username_suffix, kind, preset)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27) RETURNING *`,
);
const update = statement(
  'connections.update',
  `UPDATE connections SET display_name = $2, status = $3, position = $4, hidden = $5, domains = $6, subdomains = $7, enforced = $8,
     authoritative_domains = $9, linking = $10, provisioning = $11, username_from = $12, claim_rules = $13, group_rules = $14,
     default_groups = $15, sync = $16, trust_mfa = $17, mfa_values = $18, session_lifetime = $19, logout = $20, store_tokens = $21,
     settings = $22, trust_email = $23, username_local_part = $24, username_suffix = $25, version = version + 1, updated_at = date_trunc('milliseconds', clock_timestamp())
    WHERE id = $1 RETURNING *`,
);
const setSecret = statement(
  'connections.set_secret',
  `UPDATE connections SET secret_encrypted = $2, secret_since = CASE WHEN $2::bytea IS NULL THEN NULL ELSE now() END WHERE id = $1`,
);
const setKey = statement(
  'connections.set_key',
  'UPDATE connections SET key_encrypted = $2, key_public = $3, key_since = now() WHERE id = $1',
);
// what was read for another version of the settings is not kept
const setDiscovery = statement(
  'connections.set_discovery',
  `UPDATE connections SET discovery = $2, discovered_at = now() WHERE id = $1 AND settings = $3`,
);
const remove = statement('connections.delete', 'DELETE FROM connections WHERE id = $1');
// those that came by the connection, of one user or of all
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
// a later statement, which sees what was issued while the first one waited; those with offline_access outlive the browser's session (security R159)
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
  const one = async (rows: Promise<Row[]>): Promise<Connection | undefined> => {
    const [row] = await rows;
    return row && toConnection(row);
  };
  return {
    /** In the order of the sign-in page. */
    async list(): Promise<Connection[]> {
      return (await sql.query<Row>(list)).map(toConnection);
    },
    find: (id: string): Promise<Connection | undefined> => one(sql.query<Row>(find, [id])),
    /** Finds the row and locks it until the transaction ends. */
    lock: (id: string): Promise<Connection | undefined> => one(sql.query<Row>(lock, [id])),
    /** In a transaction: the connection stays as it is until the transaction ends. */
    async hold(id: string): Promise<void> {
      await sql.query(hold, [id]);
    },
    /** In a transaction that holds the row: no user signs in by the connection from then on. */
    async disable(id: string): Promise<void> {
      await sql.query(disable, [id]);
    },
    /** In a transaction, before the deletion: no guarded group and no client names the connection any more. */
    async endTrust(id: string): Promise<void> {
      await sql.query(endTrust, [id]);
    },
    /** In a transaction, before the connection's own lock. */
    async lockDomains(): Promise<void> {
      await sql.query(lockDomains);
    },
    /** In a transaction that holds that lock: gives the connection these domains; another connection that has one of them, if there is one. */
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
    /** Undefined when the id is taken. */
    insert(made: Pick<Connection, 'id' | 'kind' | 'preset'> & ConnectionMembers): Promise<Connection | undefined> {
      return one(sql.query<Row>(insert, [made.id, ...valuesOf(made), made.kind, made.preset])).catch(
        (error: unknown) => {
          if (isUniqueViolation(error)) return undefined;
          throw error;
        },
      );
    },
    update: (id: string, members: ConnectionMembers): Promise<Connection | undefined> =>
      one(sql.query<Row>(update, [id, ...valuesOf(members)])),
    /** @param sealed undefined removes the secret */
    async setSecret(id: string, sealed: Buffer | undefined): Promise<void> {
      await sql.query(setSecret, [id, sealed]);
    },
    /** Gives the connection another key of its own. */
    async setKey(id: string, sealed: Buffer, publicKey: Record<string, unknown>): Promise<void> {
      await sql.query(setKey, [id, sealed, publicKey]);
    },
    /** Keeps what the other side publishes, if the settings are still those with which it was read. */
    async setDiscovery(
      id: string,
      discovery: Record<string, unknown>,
      settings: Record<string, unknown>,
    ): Promise<void> {
      await sql.query(setDiscovery, [id, discovery, settings]);
    },
    async delete(id: string): Promise<void> {
      await sql.query(remove, [id]);
    },
    /** In a transaction: ends the sessions that came by a connection, and everything that was issued to clients by it. */
    async endSessions(id: string, sub?: string): Promise<EndedAccess> {
      const before = await sql.query<{ tokens: number }>(countClientSessions, [id, sub]);
      const sessions = await sql.query(endSessions, [id, sub]);
      await sql.query(endClientSessions, [id, sub]);
      return { sessions: sessions.length, tokens: before[0]!.tokens };
    },
    /** Whether a connection that is open keeps tokens. */
    async keepTokens(): Promise<boolean> {
      const [row] = await sql.query<{ kept: boolean }>(keepTokens);
      return row!.kept;
    },
    /** How many users have no other way to sign in. */
    async withoutOtherWay(id: string): Promise<number> {
      const [row] = await sql.query<{ people: number }>(withoutOtherWay, [id]);
      return row!.people;
    },
  };
}

const valuesOf = (made: ConnectionMembers): unknown[] => [
  ...[made.displayName, made.status, made.position, made.hidden, made.domains, made.subdomains, made.enforced],
  ...[made.authoritativeDomains, made.linking, made.provisioning, made.usernameFrom, JSON.stringify(made.claimRules)],
  ...[JSON.stringify(made.groupRules), made.defaultGroups, made.sync, made.trustMfa, made.mfaValues],
  ...[made.sessionLifetime, made.logout, made.storeTokens, made.settings, made.trustEmail],
  ...[made.usernameLocalPart, made.usernameSuffix],
];

function toConnection(row: Row): Connection {
  return {
    id: row.id,
    kind: row.kind,
    preset: row.preset ?? undefined,
    displayName: row.display_name,
    status: row.status,
    position: row.position,
    hidden: row.hidden,
    domains: row.domains,
    subdomains: row.subdomains,
    enforced: row.enforced,
    authoritativeDomains: row.authoritative_domains,
    linking: row.linking,
    provisioning: row.provisioning,
    usernameFrom: row.username_from,
    usernameLocalPart: row.username_local_part,
    usernameSuffix: row.username_suffix,
    claimRules: row.claim_rules,
    groupRules: row.group_rules,
    defaultGroups: row.default_groups,
    sync: row.sync,
    trustEmail: row.trust_email,
    trustMfa: row.trust_mfa,
    mfaValues: row.mfa_values,
    sessionLifetime: row.session_lifetime ?? undefined,
    logout: row.logout,
    storeTokens: row.store_tokens,
    settings: row.settings,
    secretEncrypted: row.secret_encrypted ?? undefined,
    secretSince: row.secret_since ?? undefined,
    keyEncrypted: row.key_encrypted ?? undefined,
    keyPublic: row.key_public ?? undefined,
    keySince: row.key_since ?? undefined,
    discovery: row.discovery ?? undefined,
    discoveredAt: row.discovered_at ?? undefined,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
