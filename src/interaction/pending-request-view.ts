// Finds the pending authorization request of a sign-in page, and prepares its data for the page.
import type { FastifyRequest } from 'fastify';
import { digest } from '../crypto/secrets.ts';
import type { AuthorizationRequestRow } from '../repositories/authorization-requests/authorization-requests.ts';
import { clientView } from '../pages/page-response.ts';
import type { ClientView } from '../pages/views/index.ts';
import type { Store } from '../repositories/store.ts';
import type { ClientCache } from '../repositories/clients/client-cache.ts';
import type { BrowserSessions } from '../browser/session.ts';

export interface PendingRequest {
  clientId: string;
  client: ClientView | undefined;
  loginHint: string | undefined;
  uiLocales: string | undefined;
  /** The connections by which users may sign in to the client; empty for every way to sign in. */
  connections: readonly string[];
  parameters: AuthorizationRequestRow['parameters'];
  /** When the browser sent it. */
  createdAt: Date;
}

export interface FindPendingRequestDependencies {
  store: Pick<Store, 'authorizationRequests'>;
  clients: ClientCache;
  sessions: BrowserSessions;
}

/** The pending request, if it is this browser's and has not expired. */
export async function findPendingRequest(
  { store, clients, sessions }: FindPendingRequestDependencies,
  request: FastifyRequest,
  transaction: string | undefined,
): Promise<PendingRequest | undefined> {
  const browserHash = transaction === undefined ? undefined : sessions.browserHash(request);
  if (transaction === undefined || !browserHash) return undefined;
  const stored = await store.authorizationRequests.find(digest('transaction', transaction), browserHash);
  return stored && shownRequest(clients, stored);
}

/** What the pages show of a stored request. */
export async function shownRequest(clients: ClientCache, stored: AuthorizationRequestRow): Promise<PendingRequest> {
  const client = await clients.find(stored.clientId);
  return {
    clientId: stored.clientId,
    client: client && clientView(client, stored.parameters['redirect_uri']),
    loginHint: stored.parameters['login_hint']?.slice(0, 255),
    uiLocales: stored.parameters['ui_locales']?.slice(0, 200),
    connections: client?.connections ?? [],
    parameters: stored.parameters,
    createdAt: stored.createdAt,
  };
}
