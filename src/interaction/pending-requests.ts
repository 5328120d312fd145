// Requests that wait for their answer: stored within the limits of browser, client and network.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { digest, randomSecret } from '../crypto/secrets.ts';
import { isPublicClient } from '../oauth/client-metadata.ts';
import { OAuthError } from '../oauth/errors.ts';
import type { AuthorizationRequestRow } from '../repositories/authorization-requests/authorization-requests.ts';
import type { Client } from '../repositories/clients/clients.ts';
import { isFramed } from '../browser/cookies.ts';
import { clientAddress, networkOf } from '../server/network.ts';
import type { Config } from '../config.ts';
import type { Store } from '../repositories/store.ts';
import type { BrowserSessions } from '../browser/session.ts';
import type { Limits } from '../repositories/rate-limits/rate-limits.ts';

/** Seconds for which this instance refuses a network whose room is full, before it asks the database again. */
const refusedFor = 1;
/** Seconds after which a client may come again: by then some of the others are answered or over. */
const wait = 60;

export type PendingRequests = ReturnType<typeof createPendingRequests>;

export interface PendingRequestsDependencies {
  config: Config;
  store: Pick<Store, 'authorizationRequests'>;
  sessions: BrowserSessions;
  limits: Limits;
}

export function createPendingRequests({ config, store, limits, sessions }: PendingRequestsDependencies) {
  const perNetwork = config.limits.pendingSignInsPerNetwork;

  /** Calls `act` with the network of the request, if that has room (security R119). @throws OAuthError 429 */
  async function inNetwork<T>(request: FastifyRequest, act: (network: string) => Promise<T | 'full'>): Promise<T> {
    const network = networkOf(clientAddress(request));
    if (limits.blocked('pendingSignInsPerNetwork', network) > 0) throw full();
    const result = await act(network);
    if (result !== 'full') return result;
    limits.block('pendingSignInsPerNetwork', network, refusedFor);
    throw full();
  }

  return {
    /** Stores a request that waits for its End-User in this browser; returns its name. @throws OAuthError 429 */
    store(
      request: FastifyRequest,
      reply: FastifyReply,
      row: Pick<AuthorizationRequestRow, 'clientId' | 'endpoint' | 'parameters' | 'problem'>,
    ): Promise<string> {
      return inNetwork(request, async (network) => {
        const transaction = randomSecret();
        const stored = await store.authorizationRequests.insert({
          idHash: digest('transaction', transaction),
          browserHash: sessions.ensureBrowserHash(request, reply),
          ...row,
          lifetime: config.lifetimes.form,
          perBrowser: config.limits.pendingSignIns,
          network,
          perNetwork,
        });
        return stored ? transaction : 'full';
      });
    },
    /** Stores a request that a client pushed under a name. @throws OAuthError 429 */
    async push(
      request: FastifyRequest,
      { transaction, client, parameters }: { transaction: string; client: Client; parameters: Record<string, string> },
    ): Promise<void> {
      const stored = (network: string | undefined) =>
        store.authorizationRequests.push({
          idHash: digest('transaction', transaction),
          clientId: client.clientId,
          parameters,
          lifetime: config.lifetimes.pushedRequest,
          perClient: config.limits.pushedRequests,
          network,
          perNetwork,
        });
      // a client that showed its credentials is bounded by its own limit, and its requests come from one network
      if (!isPublicClient(client.metadata)) await stored(undefined);
      else await inNetwork(request, async (network) => ((await stored(network)) ? undefined : 'full'));
    },
    /** Binds a pushed request to this browser; false when it is gone or another browser's. @throws OAuthError 429 */
    async take(
      request: FastifyRequest,
      reply: FastifyReply,
      transaction: string,
      clientId: string | undefined,
    ): Promise<boolean> {
      // the database is asked in any case: a request with prompt=none, or one that this browser holds, needs no room
      const taken = await store.authorizationRequests.take({
        idHash: digest('transaction', transaction),
        clientId: clientId ?? '',
        browserHash: sessions.ensureBrowserHash(request, reply),
        lifetime: config.lifetimes.form,
        perBrowser: config.limits.pendingSignIns,
        onlySilent: isFramed(request),
        network: networkOf(clientAddress(request)),
        perNetwork,
      });
      if (taken === 'full') throw full();
      return taken === 'taken';
    },
  };
}

function full(): OAuthError {
  const description = `too many sign-ins of this network wait for an answer: try again in ${wait} seconds`;
  return new OAuthError('temporarily_unavailable', description, 429, { headers: { 'retry-after': String(wait) } });
}
