// Reads and writes the table connections: providers and directories that identify users.
import { isUniqueViolation, type Sql, statement } from '../../database/database.ts';

export const connectionKinds = ['oidc', 'oauth', 'saml', 'ldap'] as const;
export const connectionStatuses = ['enabled', 'disabled', 'link_only'] as const;
export const linkings = ['never', 'ask', 'domain'] as const;
export const provisionings = ['off', 'invited', 'on'] as const;
export const syncs = ['first', 'always', 'never'] as const;
export const logouts = ['local', 'propagate'] as const;

/** The claim or attribute that a rule sets, and the path of its value in the answer. */
export interface ClaimRule {
  to: string;
  from: string;
  default?: string | undefined;
}

/** The group for a value in the answer. With `all`, each value is the name of a group, after the prefix. */
export type GroupRule =
  | { equals: string; group: string }
  | { dn: string; group: string }
  | { starts_with: string; group: string }
  | { all: true; prefix: string };

/** The number of sessions that a change has ended: those of browsers, and those of clients, each with its tokens. */
export interface EndedAccess {
  sessions: number;
  tokens: number;
}

/** The members that an administrator sets, other than the secret. */
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
  /** Whether the provider's statement that an address is verified confirms the address for applications (security R157). */
  trustEmail: boolean;
  trustMfa: boolean;
  mfaValues: string[];
  /** In seconds; undefined for the lifetime that the service has. */
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
  /** The key with which this service authenticates at the provider: a private JWK, and its public half, which the service publishes. */
  keyEncrypted: Buffer | undefined;
  keyPublic: Record<string, unknown> | undefined;
  keySince: Date | undefined;
  /** The metadata that the provider last published. */
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
// a sign-in that decides about an identity, and an administrator's change of the connection, wait for each other
const hold = statement('connections.hold', 'SELECT FROM connections WHERE id = $1 FOR KEY SHARE');
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
// metadata that was read for other settings is not stored
const setDiscovery = statement(
  'connections.set_discovery',
  `UPDATE connections SET discovery = $2, discovered_at = now() WHERE id = $1 AND settings = $3`,
);
const remove = statement('connections.delete', 'DELETE FROM connections WHERE id = $1');
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
  const one = async (rows: Promise<Row[]>): Promise<Connection | undefined> => {
    const [row] = await rows;
    return row && toConnection(row);
  };
  return {
    /** All connections, in the order of the sign-in page. */
    async list(): Promise<Connection[]> {
      return (await sql.query<Row>(list)).map(toConnection);
    },
    find: (id: string): Promise<Connection | undefined> => one(sql.query<Row>(find, [id])),
    /** Finds the row and locks it until the transaction ends. */
    lock: (id: string): Promise<Connection | undefined> => one(sql.query<Row>(lock, [id])),
    /** In a transaction: no administrator changes or deletes the connection until the transaction ends. */
    async hold(id: string): Promise<void> {
      await sql.query(hold, [id]);
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
    /** Inserts a connection. Undefined if the id is taken. */
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
    /** Replaces the secret. @param sealed undefined removes it */
    async setSecret(id: string, sealed: Buffer | undefined): Promise<void> {
      await sql.query(setSecret, [id, sealed]);
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
    async delete(id: string): Promise<void> {
      await sql.query(remove, [id]);
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

const valuesOf = (made: ConnectionMembers): unknown[] => [
  made.displayName,
  made.status,
  made.position,
  made.hidden,
  made.domains,
  made.subdomains,
  made.enforced,
  made.authoritativeDomains,
  made.linking,
  made.provisioning,
  made.usernameFrom,
  JSON.stringify(made.claimRules),
  JSON.stringify(made.groupRules),
  made.defaultGroups,
  made.sync,
  made.trustMfa,
  made.mfaValues,
  made.sessionLifetime,
  made.logout,
  made.storeTokens,
  made.settings,
  made.trustEmail,
  made.usernameLocalPart,
  made.usernameSuffix,
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
