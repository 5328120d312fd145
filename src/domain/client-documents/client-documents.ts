// Finds clients by the document at their client_id: fetches the document for a signed-in user, and adds a new client to the queue of registrations
// (draft-ietf-oauth-client-id-metadata-document).
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { digest } from '../../crypto/secrets.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { isDocumentAddress, parseDocument } from '../../oauth/client-document.ts';
import { OAuthError } from '../../oauth/errors.ts';
import { refusal, sentenceOf } from '../../oauth/refusals.ts';
import { FetchRefused, type GuardedRead } from '../../outbound/guarded-fetch.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import { maxUndecided } from '../../repositories/client-documents/client-documents.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Store } from '../../repositories/store.ts';
import type { Limits } from '../rate-limits/rate-limits.ts';
import { freshness, isTrusted } from './document-change.ts';
import { type Asker, createDocumentStore, type Unstored } from './document-store.ts';

export type { Asker };

/** Why no client was found: another instance is reading its document, the document is refused, or a limit is reached. */
type Failed =
  | { outcome: 'reading' }
  | { outcome: 'unusable'; reason: string }
  | { outcome: 'throttled'; wait: number }
  | { outcome: Unstored };

/** `known`: the client is stored, and may be disabled. `waiting`: an administrator must decide about the client. */
export type Asked = { outcome: 'known' } | { outcome: 'waiting'; client: Client } | Failed;

export type ClientDocuments = ReturnType<typeof createClientDocuments>;

export interface ClientDocumentsDependencies {
  config: Config;
  store: Store;
  clients: ClientCache;
  secretBox: SecretBox;
  limits: Limits;
  readDocument: GuardedRead;
  /** Reads a document, but never from a host of the service's own network. */
  readForeignDocument: GuardedRead;
  logger: Pick<Logger, 'info'>;
}

const maxBytes = 5 * 1024; // draft 8.7
const timeout = 3_000; // milliseconds

export function createClientDocuments(options: ClientDocumentsDependencies) {
  const { config, store, clients, limits, logger } = options;
  const { clientDocuments: documents } = store;
  const documentStore = createDocumentStore(options);
  /** The fetches that this instance runs, so that concurrent requests cause one fetch. */
  const running = new Map<string, Promise<Failed | undefined>>();

  /** Waits for the running fetch of an address, or fetches it. @param by undefined for the background job, which has no limit */
  async function fetchOnce(clientId: string, by: Asker | undefined): Promise<Failed | undefined> {
    for (let other = running.get(clientId); other; other = running.get(clientId)) {
      const failed = await other;
      // the other fetch may have reached the limit of another user
      if (failed?.outcome !== 'throttled') return failed;
    }
    const work = claimAndRead(clientId, by).finally(() => running.delete(clientId));
    running.set(clientId, work);
    return work;
  }

  async function claimAndRead(clientId: string, by: Asker | undefined): Promise<Failed | undefined> {
    const held = await documents.fetchOf(clientId);
    if (held) return failureOf(held.failure);
    const isNew = by !== undefined && !(await documents.state(clientId));
    if (isNew && !isTrusted(config, clientId) && (await documents.undecidedOf(by.sub)) >= maxUndecided)
      return { outcome: 'many' };
    // the limit comes before the insertion of a row, so that it also bounds the rows (security R151)
    const wait = by ? await countFetch(by.sub) : 0;
    if (wait > 0) return { outcome: 'throttled', wait };
    if (!(await documents.claim(clientId))) return failureOf((await documents.fetchOf(clientId))?.failure);
    try {
      // another instance may have read the document since this one checked (security R140)
      const isFresh = (await documents.state(clientId))?.isFresh;
      const unstored = isFresh ? undefined : await read(clientId, by);
      await documents.release(clientId);
      return unstored && { outcome: unstored };
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === undefined) {
        await documents.release(clientId);
        throw error;
      }
      logger.info({ client_id: clientId, err: error }, 'the document of a client was refused');
      await documents.fail(clientId, reason);
      if (error instanceof FetchRefused && error.isGone) await documentStore.missing(clientId);
      return { outcome: 'unusable', reason };
    }
  }

  const failureOf = (failure: string | undefined): Failed =>
    failure === undefined ? { outcome: 'reading' } : { outcome: 'unusable', reason: failure };

  async function countFetch(sub: string): Promise<number> {
    const wait = await limits.consume('metadataFetches', `user ${sub}`);
    return wait > 0 ? wait : limits.consume('metadataFetchesInAll', 'all');
  }

  /** Reads and stores the document. Returns the limit that a new document exceeds, if any. @throws FetchRefused, OAuthError */
  async function read(clientId: string, by: Asker | undefined): Promise<Unstored | undefined> {
    const known = await documents.find(clientId);
    // any user can name an address: the service reads from its own network only after an administrator's or operator's decision (security R164)
    const mayBeInside =
      config.clientDocumentHosts.includes(new URL(clientId).host) ||
      (known !== undefined && (await store.clients.find(clientId))?.everEnabled === true);
    const readDocument = mayBeInside ? options.readDocument : options.readForeignDocument;
    const types = ['application/json', 'application/*+json'];
    const answer = await readDocument(clientId, types, { maxBytes, timeout, etag: known?.etag });
    const fresh = freshness(answer?.headers['cache-control']);
    if (!answer) return documentStore.unchanged(clientId, fresh);
    const hash = digest('client document', answer.text);
    if (known?.hash.equals(hash)) return documentStore.unchanged(clientId, fresh);
    const { etag } = answer.headers;
    const usableTag = etag !== undefined && /^(W\/)?"[!#-~]{0,190}"$/.test(etag) ? etag : undefined;
    return documentStore.keep(clientId, parseDocument(clientId, answer.text), { hash, etag: usableTag, fresh }, by);
  }

  return {
    /** Whether a client_id is the address of a document that the service may fetch. */
    isAddress: (clientId: string | undefined): clientId is string =>
      config.clientDocuments !== 'off' && clientId !== undefined && isDocumentAddress(clientId, config.issuer),
    /** Finds a client for a signed-in user. No other request causes a fetch (security R140). */
    async ask(clientId: string, by: Asker): Promise<Asked> {
      const state = await documents.state(clientId);
      if (state?.isIdle) await documents.touch(clientId);
      const stored = state ? undefined : await store.clients.find(clientId);
      if (stored && stored.origin !== 'document') return { outcome: 'known' };
      // a document may have been stored since the first check
      const failed = stored || state?.isFresh ? undefined : await fetchOnce(clientId, by);
      // a stored client stays in effect while its document cannot be read
      if (!state && failed) return failed;
      const client = await clients.find(clientId, ({ status }) => status === 'enabled');
      if (!client || !isWaiting(client)) return { outcome: 'known' };
      await documents.ask(clientId, by.sub);
      return { outcome: 'waiting', client };
    },
    /** Reads each document that was used within a day, once an hour. */
    async refetchDue(isStopping: () => boolean): Promise<void> {
      for (let isFull = true; isFull && !isStopping();) {
        const due = await documents.due();
        for (const clientId of due.clientIds) if (!isStopping()) await fetchOnce(clientId, undefined);
        isFull = due.isFull;
      }
    },
  };
}

const isWaiting = ({ status, everEnabled, approvedBy, refusalReason }: Client): boolean =>
  status === 'disabled' && !everEnabled && approvedBy === undefined && refusalReason === undefined;

/** The reason for its author why a document is refused; undefined for a failure of the service. */
function reasonOf(error: unknown): string | undefined {
  // every refused fetch has the same sentence: the author learns nothing about the networks that the service reaches
  if (error instanceof FetchRefused) return sentenceOf(refusal('document.answer', 'client_id'));
  return error instanceof OAuthError && error.status === 400 ? error.description : undefined;
}
