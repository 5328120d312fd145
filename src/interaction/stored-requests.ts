// Stores authorization requests that wait for a page, within the limits of browser, client and network.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { digest, randomSecret } from '../crypto/secrets.ts';
import { OAuthError } from '../oauth/errors.ts';
import type { AuthorizationRequestRow } from '../repositories/authorization-requests/authorization-requests.ts';
import type { UsedProof } from '../repositories/tokens/dpop-proofs.ts';
import type { Client } from '../repositories/clients/clients.ts';
import { isFramed } from '../browser/cookies.ts';
import { clientAddress, networkOf } from '../server/network.ts';
import type { Config } from '../config.ts';
import type { Store } from '../repositories/store.ts';
import type { BrowserSessions } from '../browser/session.ts';
import type { Limits } from '../domain/rate-limits/rate-limits.ts';

/** Seconds for which this instance refuses a full network before it asks the database again. */
const refusedFor = 1;
/** Seconds after which a client may try again. */
const retryAfter = 60;

export interface StoredRequestsDependencies {
  config: Config;
  store: Pick<Store, 'authorizationRequests'>;
  sessions: BrowserSessions;
  limits: Limits;
}

export function createStoredRequests({ config, store, limits, sessions }: StoredRequestsDependencies) {
  const perNetwork = config.limits.pendingSignInsPerNetwork;

  /** Runs `work` if the network of the request is within its limit (security R119). @throws OAuthError 429 */
  async function inNetwork<T>(request: FastifyRequest, work: (network: string) => Promise<T | 'full'>): Promise<T> {
    const network = networkOf(clientAddress(request));
    if (limits.blocked('pendingSignInsPerNetwork', network) > 0) throw full();
    const result = await work(network);
    if (result !== 'full') return result;
    limits.block('pendingSignInsPerNetwork', network, refusedFor);
    throw full();
  }

  return {
    /** Stores a request of this browser and returns its id. @throws OAuthError 429 */
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
    /** Stores a pushed request under an id, and uses its proof; `replayed` if the proof was used before. @throws OAuthError 429 */
    async push(
      request: FastifyRequest,
      {
        transaction,
        client,
        parameters,
        proof,
        lifetime,
      }: {
        transaction: string;
        client: Client;
        parameters: Record<string, string>;
        proof: UsedProof | undefined;
        /** In seconds. */
        lifetime: number;
      },
    ): Promise<'stored' | 'replayed'> {
      const stored = (network: string | undefined) =>
        store.authorizationRequests.push({
          idHash: digest('transaction', transaction),
          clientId: client.clientId,
          parameters,
          lifetime,
          perClient: config.limits.pushedRequests,
          network,
          perNetwork,
          proof,
        });
      // an authenticated client has a limit of its own, and pushes from one network
      if (client.rules.isPublic) return inNetwork(request, stored);
      return (await stored(undefined)) === 'replayed' ? 'replayed' : 'stored';
    },
    /** Binds a pushed request to this browser; false if it no longer exists or belongs to another browser. @throws OAuthError 429 */
    async take(
      request: FastifyRequest,
      reply: FastifyReply,
      transaction: string,
      clientId: string | undefined,
    ): Promise<boolean> {
      // a full network may still take a request with prompt=none, or one that this browser has taken: the database decides
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
  const description = `too many pending sign-ins from this network: try again in ${retryAfter} seconds`;
  return new OAuthError('temporarily_unavailable', description, 429, {
    headers: { 'retry-after': String(retryAfter) },
  });
}
