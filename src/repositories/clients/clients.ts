// Reads and writes the table clients: relying parties, their registration and their approval.
import { type Sql, statement } from '../../database/database.ts';
import { type ClientSettings, clientSettings, type ClientSettingsChange } from '../../entities/client-settings.ts';
import type { Members } from '../../entities/entity.ts';
import type { ClaimRule } from '../../rules/claims/claim-rules.ts';
import type { ClientMetadata } from '../../oauth/client-metadata.ts';
import { consoleClientId } from '../../rules/clients/console-client.ts';
import type { StoredKind } from '../../rules/clients/kinds.ts';
import type { WeakenedClient } from '../../rules/clients/weakened.ts';
import { type ClientRules, rulesOf } from '../../rules/clients/client-rules.ts';
import { methodsWithoutSecret } from '../../oauth/registrable-values.ts';
import type { OwnScopes } from '../../oauth/scope.ts';
import { abandonedClients } from './abandoned-clients.ts';
import { type ClientFilter, clientListing, needsDecision, type Page, registrationWaits } from './client-listing.ts';
import { refusedClient } from './refused-client.ts';

export type ClientStatus = 'disabled' | 'enabled';

/** Its settings are declared in src/entities/client-settings.ts. */
export interface Client extends ClientSettings {
  clientId: string;
  /** Its protocol; it never changes. */
  kind: StoredKind;
  status: ClientStatus;
  /** Increases with every change. */
  version: number;
  metadata: ClientMetadata;
  /** They follow from the metadata. */
  rules: ClientRules;
  pendingMetadata: ClientMetadata | undefined;
  secretHash: Buffer | undefined;
  secretEncrypted: Buffer | undefined;
  /** An administrator gave a secret that is easier to guess than those of the service, and it has not been renewed since. */
  weakSecret: boolean;
  /** When it got its secret; undefined without one, and for a secret from before that was noted. A trigger sets it. */
  secretSince: Date | undefined;
  sharedSecretEncrypted: Buffer;
  registrationTokenHash: Buffer | undefined;
  /** The client registered itself; an administrator did not create it. */
  selfRegistered: boolean;
  /** Where the metadata comes from: requests to this service, or the document at the client_id. */
  origin: 'service' | 'document';
  /** The document has been missing for a day: users cannot authorize the client until an administrator approves it again. */
  documentGone: boolean;
  /** The scopes of operators for which the client is registered; known after it was found. */
  ownScopes: OwnScopes;
  /** Registered in approval mode, and its credentials are not collected yet: it stays disabled, approved or not. */
  uncollected: boolean;
  approvedBy: 'administrator' | 'initial_access_token' | 'automatic' | undefined;
  /** Enabled now or at any time before. A trigger sets it. */
  everEnabled: boolean;
  /** The reason of an administrator's refusal of the registration or its latest change, if any. */
  refusalReason: string | undefined;
  /** The file name of the logo that an administrator uploaded, if any. */
  logo: string | undefined;
  createdAt: Date;
  updatedAt: Date;
}

export interface ClientCredentials {
  secretHash: Buffer | undefined;
  secretEncrypted: Buffer | undefined;
  weakSecret?: boolean | undefined;
  sharedSecretEncrypted: Buffer;
  registrationTokenHash: Buffer | undefined;
}

export interface NewClient extends ClientCredentials {
  clientId: string;
  status: ClientStatus;
  approvedBy: Client['approvedBy'];
  metadata: ClientMetadata;
  firstParty: boolean;
  /** By default `oauth`. */
  kind?: StoredKind | undefined;
  selfRegistered?: boolean;
  origin?: Client['origin'];
  uncollected?: boolean;
}

/** The members that an administrator changes. Undefined keeps a member as it is. */
export interface ClientChange extends ClientSettingsChange {
  metadata?: ClientMetadata | undefined;
  pendingMetadata?: ClientMetadata | null | undefined;
  credentials?: Partial<ClientCredentials> | undefined;
}

/** A setting without a default is null until it is set, as are no rules for claims. */
type SettingColumns = {
  [Name in keyof typeof clientSettings]: Name extends 'claim_rules'
    ? ClaimRule[] | null
    : Required<ClientSettingsChange>[Name];
};

interface Row extends SettingColumns {
  client_id: string;
  kind: StoredKind;
  status: ClientStatus;
  version: number;
  metadata: ClientMetadata;
  pending_metadata: ClientMetadata | null;
  client_secret_hash: Buffer | null;
  client_secret_encrypted: Buffer | null;
  weak_secret: boolean;
  secret_since: Date | null;
  shared_secret_encrypted: Buffer;
  registration_access_token_hash: Buffer | null;
  self_registered: boolean;
  origin: Client['origin'];
  document_gone: boolean;
  own_scopes?: OwnScopes | null;
  uncollected: boolean;
  approved_by: NonNullable<Client['approvedBy']> | null;
  ever_enabled: boolean;
  refusal_reason: string | null;
  logo: string | null;
  created_at: Date;
  updated_at: Date;
}

const find = statement('clients.find', 'SELECT c.*, own_scopes(c.metadata) FROM clients c WHERE client_id = $1');
const lock = statement('clients.lock', 'SELECT * FROM clients WHERE client_id = $1 FOR UPDATE');
const findByRegistrationToken = statement(
  'clients.find_by_registration_token',
  'SELECT * FROM clients WHERE registration_access_token_hash = $1',
);
const listStarts = statement(
  'clients.list_starts',
  `SELECT * FROM clients WHERE status = 'enabled' AND NOT start_hidden AND (start_uri IS NOT NULL OR metadata ? 'initiate_login_uri' OR idp_initiated)
    ORDER BY login_key(coalesce(metadata ->> 'client_name', client_id)) COLLATE "und-x-icu", client_id LIMIT $1`,
);
// those whose users have a browser
const listWithoutStart = statement(
  'clients.list_without_start',
  `SELECT * FROM clients WHERE status = 'enabled' AND NOT start_hidden AND start_uri IS NULL AND NOT metadata ? 'initiate_login_uri'
      AND (metadata -> 'grant_types' ?| ARRAY['authorization_code', 'implicit'] OR kind = 'saml' AND idp_initiated IS NOT TRUE) AND client_id <> $2
    ORDER BY login_key(coalesce(metadata ->> 'client_name', client_id)) COLLATE "und-x-icu", client_id LIMIT $1`,
);
const findByEntityId = statement('clients.find_by_entity_id', 'SELECT client_id FROM clients WHERE entity_id = $1');
const findByNameId = statement('clients.find_by_name_id', 'SELECT client_id FROM clients WHERE name_id = $1 LIMIT 1');
const listWeakened = statement(
  'clients.list_weakened',
  `SELECT client_id AS "clientId", coalesce(metadata ->> 'client_name', client_id) AS name, development, weak_secret AS "weakSecret"
     FROM clients WHERE development OR weak_secret ORDER BY client_id LIMIT $1`,
);
const insert = statement(
  'clients.insert',
  `INSERT INTO clients (client_id, status, approved_by, metadata, first_party, client_secret_hash, client_secret_encrypted,
     shared_secret_encrypted, registration_access_token_hash, uncollected, self_registered, origin, weak_secret, kind)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING *`,
);
const countWaiting = statement(
  'clients.count_waiting',
  `SELECT count(*)::int AS waiting FROM (
     SELECT 1 FROM clients WHERE ${registrationWaits} AND origin = $2 LIMIT $1) AS capped`,
);
// an arbitrary constant that identifies this advisory lock
const lockWaiting = statement('clients.lock_waiting', 'SELECT pg_advisory_xact_lock(7106344)');
const countToDecide = statement(
  'clients.count_to_decide',
  `SELECT count(*)::int AS waiting FROM (SELECT 1 FROM clients WHERE ${needsDecision} LIMIT $1) AS capped`,
);
const settings = Object.entries<Members[string]>(clientSettings);
const update = statement(
  'clients.update',
  `UPDATE clients SET
     metadata = coalesce($2, metadata),
     pending_metadata = CASE WHEN $3 THEN $4::jsonb ELSE pending_metadata END,
     refused_at = CASE WHEN $3 AND ever_enabled THEN NULL ELSE refused_at END,
     refusal_reason = CASE WHEN $3 AND ever_enabled THEN NULL ELSE refusal_reason END,
     client_secret_hash = CASE WHEN $5 THEN $6 ELSE client_secret_hash END,
     client_secret_encrypted = CASE WHEN $5 THEN $7 ELSE client_secret_encrypted END,
     weak_secret = CASE WHEN $5 THEN $11 ELSE weak_secret END,
     shared_secret_encrypted = coalesce($8, shared_secret_encrypted),
     registration_access_token_hash = coalesce($9, registration_access_token_hash),
     ${settings.map(([name], index) => `${name} = CASE WHEN '${name}' = ANY($10) THEN $${index + 12} ELSE ${name} END`).join(',\n     ')}
   WHERE client_id = $1 RETURNING *`,
);
// a registration whose credentials can no longer be collected is not approved
const approve = statement(
  'clients.approve',
  `UPDATE clients SET status = 'enabled' WHERE client_id = $1
     AND (NOT uncollected OR refused_at IS NULL AND EXISTS (
       SELECT FROM deferred_registrations d WHERE d.client_id = clients.client_id AND d.expires_at > now()))
   RETURNING *`,
);
const collect = statement(
  'clients.collect',
  `UPDATE clients SET uncollected = false, status = 'enabled', client_secret_hash = $2, client_secret_encrypted = $3,
     shared_secret_encrypted = $4, registration_access_token_hash = $5
   WHERE client_id = $1 AND uncollected AND approved_by IS NOT NULL RETURNING *`,
);
// a refused change is removed with the secret made for it, and the metadata in force stays; the reason stays until the next attempt
const refuse = statement(
  'clients.refuse',
  `UPDATE clients SET pending_metadata = NULL,
     client_secret_hash = CASE WHEN metadata ->> 'token_endpoint_auth_method' = ANY($3) THEN NULL ELSE client_secret_hash END,
     client_secret_encrypted = CASE WHEN metadata ->> 'token_endpoint_auth_method' = ANY($3) THEN NULL ELSE client_secret_encrypted END,
     refused_at = now(),
     refusal_reason = $2
   WHERE client_id = $1
     AND (pending_metadata IS NOT NULL OR (self_registered AND status = 'disabled' AND approved_by IS NULL))
   RETURNING *`,
);
const disable = statement('clients.disable', `UPDATE clients SET status = 'disabled' WHERE client_id = $1 RETURNING *`);
const remove = statement('clients.delete', 'DELETE FROM clients WHERE client_id = $1 RETURNING client_id');
const useAssertion = statement(
  'clients.use_assertion',
  `INSERT INTO used_assertions (client_id, jti_hash, expires_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING client_id`,
);

export function clientsRepository(sql: Sql) {
  const one = async (rows: Promise<Row[]>): Promise<Client | undefined> => {
    const [row] = await rows.catch(refusedClient);
    return row && toClient(row);
  };
  return {
    find: async (clientId: string): Promise<Client | undefined> =>
      // an invalid identifier needs no query
      /^[!-~]{1,512}$/.test(clientId) ? one(sql.query<Row>(find, [clientId])) : undefined,
    /** Finds and locks the row until the transaction ends. */
    lock: (clientId: string): Promise<Client | undefined> => one(sql.query<Row>(lock, [clientId])),
    findByRegistrationToken: (tokenHash: Buffer): Promise<Client | undefined> =>
      one(sql.query<Row>(findByRegistrationToken, [tokenHash])),
    /** The client_id of the SAML application with this entity ID. */
    findIdByEntity: async (entityId: string): Promise<string | undefined> =>
      (await sql.query<{ client_id: string }>(findByEntityId, [entityId]))[0]?.client_id,
    /** The client_id of a SAML application with this NameID. */
    findIdByNameId: async (nameId: string): Promise<string | undefined> =>
      (await sql.query<{ client_id: string }>(findByNameId, [nameId]))[0]?.client_id,
    /** The enabled clients that the start page can show, by name. */
    async listStarts(limit: number): Promise<Client[]> {
      return (await sql.query<Row>(listStarts, [limit])).map(toClient);
    },
    /** The enabled clients that the start page would show if they had an address to start at, by name; without the one of the console. */
    async listWithoutStart(limit: number): Promise<Client[]> {
      return (await sql.query<Row>(listWithoutStart, [limit, consoleClientId])).map(toClient);
    },
    /** The clients that an administrator made weaker than others, by their ids. */
    listWeakened: (limit: number): Promise<WeakenedClient[]> => sql.query<WeakenedClient>(listWeakened, [limit]),
    /** Newest first, unless the filter says otherwise. */
    async list(filter: ClientFilter, page: Page): Promise<Client[]> {
      const { statement, values } = clientListing(filter, page);
      return (await sql.query<Row>(statement, values)).map(toClient);
    },
    async insert(client: NewClient): Promise<Client> {
      const values = [
        client.clientId,
        client.status,
        client.approvedBy,
        client.metadata,
        client.firstParty,
        client.secretHash,
        client.secretEncrypted,
        client.sharedSecretEncrypted,
        client.registrationTokenHash,
        client.uncollected ?? false,
        client.selfRegistered ?? false,
        client.origin ?? 'service',
        client.weakSecret ?? false,
        client.kind ?? 'oauth',
      ];
      return (await one(sql.query<Row>(insert, values)))!;
    },
    /** How many registrations wait for an administrator, counted up to `limit`. */
    async countWaiting(limit: number, origin: Client['origin']): Promise<number> {
      const [row] = await sql.query<{ waiting: number }>(countWaiting, [limit, origin]);
      return row!.waiting;
    },
    /** Serializes the transactions that add a registration. */
    async lockWaiting(): Promise<void> {
      await sql.query(lockWaiting);
    },
    /** How many registrations and changes wait for a decision, counted up to `limit`. */
    async countToDecide(limit: number): Promise<number> {
      const [row] = await sql.query<{ waiting: number }>(countToDecide, [limit]);
      return row!.waiting;
    },
    update(clientId: string, change: ClientChange): Promise<Client | undefined> {
      const credentials = change.credentials ?? {};
      const given: Readonly<Record<string, unknown>> = { ...change };
      return one(
        sql.query<Row>(update, [
          clientId,
          change.metadata,
          change.pendingMetadata !== undefined,
          change.pendingMetadata,
          'secretHash' in credentials,
          credentials.secretHash,
          credentials.secretEncrypted,
          credentials.sharedSecretEncrypted,
          credentials.registrationTokenHash,
          settings.flatMap(([name]) => (given[name] === undefined ? [] : [name])),
          credentials.weakSecret ?? false,
          ...settings.map(([name, { json }]) => (json ? jsonList(given[name]) : given[name])),
        ]),
      );
    },
    /**
     * Enables a client, or approves the waiting change of an enabled one; undefined when it is gone or can no longer be collected.
     * @throws OAuthError conflict when another client holds a resource that this one claims
     */
    approve: (clientId: string): Promise<Client | undefined> => one(sql.query<Row>(approve, [clientId])),
    /** Enables an approved client with its new credentials; undefined when it is not approved, or already collected. */
    collect: (clientId: string, credentials: ClientCredentials): Promise<Client | undefined> =>
      one(
        sql.query<Row>(collect, [
          clientId,
          credentials.secretHash,
          credentials.secretEncrypted,
          credentials.sharedSecretEncrypted,
          credentials.registrationTokenHash,
        ]),
      ),
    /** Refuses a waiting registration or change; undefined when nothing waits. */
    refuse: (clientId: string, reason: string): Promise<Client | undefined> =>
      one(sql.query<Row>(refuse, [clientId, reason, methodsWithoutSecret()])),
    ...abandonedClients(sql),
    /** Disables a client and ends everything that was issued to it. */
    disable: (clientId: string): Promise<Client | undefined> => one(sql.query<Row>(disable, [clientId])),
    /** Deletes a client with its sessions, codes and tokens; false when it did not exist. */
    async delete(clientId: string): Promise<boolean> {
      return (await sql.query(remove, [clientId])).length > 0;
    },
    /** Marks a client assertion as used; false when it was used before (RFC 7523 section 3). */
    async useAssertion(clientId: string, jtiHash: Buffer, expiresAt: Date): Promise<boolean> {
      return (await sql.query(useAssertion, [clientId, jtiHash, expiresAt])).length > 0;
    },
  };
}

/** The column of a list that is empty is null. */
const jsonList = (list: unknown) => (Array.isArray(list) && list.length > 0 ? JSON.stringify(list) : undefined);

function toClient(row: Row): Client {
  return {
    clientId: row.client_id,
    kind: row.kind,
    status: row.status,
    version: row.version,
    metadata: row.metadata,
    rules: rulesOf(row.metadata),
    pendingMetadata: row.pending_metadata ?? undefined,
    secretHash: row.client_secret_hash ?? undefined,
    secretEncrypted: row.client_secret_encrypted ?? undefined,
    weakSecret: row.weak_secret,
    secretSince: row.secret_since ?? undefined,
    sharedSecretEncrypted: row.shared_secret_encrypted,
    registrationTokenHash: row.registration_access_token_hash ?? undefined,
    firstParty: row.first_party,
    selfManaged: row.self_managed,
    development: row.development,
    selfRegistered: row.self_registered,
    origin: row.origin,
    documentGone: row.document_gone,
    introspect: row.introspect,
    scimSource: row.scim_source ?? undefined,
    requiredAcr: row.required_acr ?? undefined,
    access: row.access,
    accessGroups: row.access_groups,
    connections: row.connections,
    upstreamTokens: row.upstream_tokens,
    networks: row.networks,
    startUri: row.start_uri ?? undefined,
    startHidden: row.start_hidden,
    cibaTrusted: row.ciba_trusted,
    claimRules: row.claim_rules ?? [],
    ownScopes: row.own_scopes ?? {},
    uncollected: row.uncollected,
    approvedBy: row.approved_by ?? undefined,
    everEnabled: row.ever_enabled,
    refusalReason: row.refusal_reason ?? undefined,
    logo: row.logo ?? undefined,
    authorizationCodeLifetime: row.authorization_code_lifetime ?? undefined,
    accessTokenLifetime: row.access_token_lifetime ?? undefined,
    refreshTokenLifetime: row.refresh_token_lifetime ?? undefined,
    idTokenLifetime: row.id_token_lifetime ?? undefined,
    hosts: row.hosts,
    headers: row.headers,
    openPaths: row.open_paths,
    entityId: row.entity_id ?? undefined,
    acsUris: row.acs_uris ?? undefined,
    sloUri: row.slo_uri ?? undefined,
    certificates: row.certificates ?? undefined,
    nameId: row.name_id ?? undefined,
    signResponse: row.sign_response ?? undefined,
    encryptionCertificate: row.encryption_certificate ?? undefined,
    requireSignedRequests: row.require_signed_requests ?? undefined,
    idpInitiated: row.idp_initiated ?? undefined,
    sessionLifetime: row.session_lifetime ?? undefined,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
