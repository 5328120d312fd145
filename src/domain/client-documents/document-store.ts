// Stores a new client from its document in the queue of registrations, a change of the document, or that the document is missing.
import type { Config } from '../../config.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { addressesOf, withoutWaiting } from '../../oauth/client-addresses.ts';
import { documentMetadata } from '../../oauth/client-document.ts';
import type { AuditLog } from '../../repositories/audit/audit-events.ts';
import { clientEvent } from '../../repositories/audit/audit-diff.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import { maxUndecided, type ReadDocument } from '../../repositories/client-documents/client-documents.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { newCredentials } from '../../tokens/client-credentials.ts';
import { registrableApiScopes } from '../resources/api-scopes.ts';
import { documentChange, isTrusted } from './document-change.ts';

/** The signed-in user who asks for a client. */
export interface Asker {
  sub: string;
  address: string | undefined;
  log: AuditLog;
}

/** Why a new document is not stored: too many documents of all users (`full`) or of this user (`many`) wait. */
export type Unstored = 'full' | 'many';

interface DocumentStoreDependencies {
  config: Config;
  store: Store;
  clients: ClientCache;
  secretBox: SecretBox;
}

export function createDocumentStore({ config, store, clients, secretBox }: DocumentStoreDependencies) {
  /** The limit that a new document reaches, if any. Documents have their own limit, and each user has one (security R49, R164). */
  async function reachedLimit(repositories: Repositories, by: Asker | undefined): Promise<Unstored | undefined> {
    const cap = config.limits.registrationsWaiting;
    // with the lock, concurrent registrations count each other
    await repositories.clients.lockWaiting();
    if (by && (await repositories.clientDocuments.undecidedOf(by.sub)) >= maxUndecided) return 'many';
    return cap > 0 && (await repositories.clients.countWaiting(cap, 'document')) >= cap ? 'full' : undefined;
  }

  /** Inserts a client, unless a limit is reached. */
  async function insert(
    repositories: Repositories,
    clientId: string,
    wanted: Client['metadata'],
    by: Asker | undefined,
  ): Promise<Unstored | undefined> {
    const metadata = withoutWaiting(wanted);
    const waits = addressesOf(metadata).length < addressesOf(wanted).length;
    // if all addresses of a document wait for an administrator, the document needs an approval, even on a trusted host (reports A5)
    const trusted = isTrusted(config, clientId) && metadata.redirect_uris.length > 0;
    const reached = trusted ? undefined : await reachedLimit(repositories, by);
    if (reached) return reached;
    const made = await repositories.clients.insert({
      clientId,
      metadata,
      status: trusted ? 'enabled' : 'disabled',
      approvedBy: trusted ? 'automatic' : undefined,
      firstParty: false,
      selfRegistered: true,
      origin: 'document',
      // the service never shows these credentials, and the client has no registration access token
      ...newCredentials(secretBox, clientId, metadata).stored,
      registrationTokenHash: undefined,
    });
    const inserted =
      waits && !trusted ? (await repositories.clients.update(clientId, { pendingMetadata: wanted }))! : made;
    await repositories.auditEvents.insert(
      {
        type: 'client.registered',
        outcome: 'success',
        actor: by?.sub ?? 'service',
        clientId,
        address: by?.address,
        detail: { status: inserted.status, name: metadata.client_name, document: true },
      },
      by?.log,
    );
    if (by && !trusted) await repositories.clientDocuments.ask(clientId, by.sub);
    return undefined;
  }

  return {
    /** Stores a document that was read. Returns the limit that a new document exceeds, if any. @throws OAuthError if the document is refused */
    async keep(
      clientId: string,
      document: Record<string, unknown>,
      read: ReadDocument,
      by: Asker | undefined,
    ): Promise<Unstored | undefined> {
      const apiScopes = await registrableApiScopes(store, document['scope'], { admin: false });
      const stored = await store.transaction(async (repositories) => {
        const current = await repositories.clients.lock(clientId);
        const metadata = documentMetadata(clientId, document, { apiScopes, kept: current?.metadata.scope }, config);
        if (!current) {
          const reached = await insert(repositories, clientId, metadata, by);
          if (reached) return reached;
        } else {
          const change = documentChange(current, metadata, isTrusted(config, clientId));
          const updated = (await repositories.clients.update(clientId, change))!;
          await recordChange(repositories, current, updated);
        }
        await repositories.clientDocuments.store(clientId, read);
        return undefined;
      });
      clients.forget(clientId);
      return stored;
    },
    /** Notes that a document has not changed. If it was missing for a day, its client waits for an approval. */
    async unchanged(clientId: string, fresh: number): Promise<undefined> {
      await store.transaction(async (repositories) => {
        const current = await repositories.clients.lock(clientId);
        const known = await repositories.clientDocuments.find(clientId);
        if (current?.documentGone && known?.wasMissing) {
          const pendingMetadata = current.pendingMetadata ?? current.metadata;
          await recordChange(
            repositories,
            current,
            (await repositories.clients.update(clientId, { pendingMetadata }))!,
          );
        }
        await repositories.clientDocuments.unchanged(clientId, fresh);
      });
      clients.forget(clientId);
    },
    /** Notes that a document is missing. After a day, users can no longer authorize its client. */
    async missing(clientId: string): Promise<void> {
      if (!(await store.clientDocuments.missing(clientId))) return;
      await store.transaction(async (repositories) => {
        if (!(await repositories.clients.closeForUsers(clientId))) return;
        const event = { type: 'client.document_gone', outcome: 'success', actor: 'service', clientId } as const;
        await repositories.auditEvents.insert(event);
      });
      clients.forget(clientId);
    },
  };
}

async function recordChange({ auditEvents }: Repositories, before: Client, after: Client): Promise<void> {
  const event = clientEvent(before, after);
  if (!event) return;
  const detail = { ...event.detail, document: true, waits_for_approval: after.pendingMetadata !== undefined };
  await auditEvents.insert({
    ...event,
    type: 'client.updated',
    outcome: 'success',
    actor: before.clientId,
    detail,
  });
}
