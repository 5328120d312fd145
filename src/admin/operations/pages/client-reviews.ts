// Looks up what an administrator reviews of clients: redirect hosts, similar names, and resources that other clients hold.
import { type ClientMetadata, redirectHost } from '../../../oauth/client-metadata.ts';
import type { HeldResource, KnownHost, LookAlike } from '../../../repositories/clients/client-review.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import type { Store } from '../../../repositories/store.ts';
import { verificationCodeHashes } from '../../../tokens/verification-code.ts';
import { pageOperation } from '../operation.ts';

/** How many of the users who asked for a client are named. */
const shownAskers = 5;

/** Review facts about all clients of a page, from one query each. */
export interface ReviewLookup {
  hosts: Map<string, KnownHost>;
  lookAlikes: Map<string, LookAlike[]>;
  heldResources: Map<string, HeldResource[]>;
  origins: Awaited<ReturnType<Store['clientReview']['origins']>>;
  askers: Awaited<ReturnType<Store['clientDocuments']['askers']>>;
}

export const hostsOf = (uris: readonly string[]): string[] => [
  ...new Set(uris.map((uri) => redirectHost(uri).slice(0, 255))),
];

export async function lookUpReviews(
  { clientReview, clientDocuments }: Pick<Store, 'clientReview' | 'clientDocuments'>,
  clients: readonly Client[],
): Promise<ReviewLookup> {
  const asked = clients.map(({ pendingMetadata, metadata, clientId }) => ({
    clientId,
    metadata: pendingMetadata ?? metadata,
    all: [...metadata.redirect_uris, ...(pendingMetadata?.redirect_uris ?? [])],
  }));
  const claims = clients.flatMap((client) => claimsOf(client).map((uri) => ({ clientId: client.clientId, uri })));
  const described = clients.filter(({ origin }) => origin === 'document').map(({ clientId }) => clientId);
  const [hosts, lookAlikes, origins, heldResources, askers] = await Promise.all([
    clientReview.hosts(hostsOf(asked.flatMap(({ all }) => all))),
    clientReview.lookAlikes(
      asked.flatMap(({ clientId, metadata }) => namesOf(metadata).map((name) => ({ clientId, name }))),
    ),
    clientReview.origins(asked.map(({ clientId }) => clientId)),
    clientReview.heldResources(claims),
    clientDocuments.askers(described, shownAskers),
  ]);
  return { hosts: new Map(hosts.map((host) => [host.host, host])), lookAlikes, origins, heldResources, askers };
}

/** The names that users may see, each once. */
const namesOf = ({ client_name: name, localized = {} }: ClientMetadata): string[] => [
  ...new Set([name, ...Object.values(localized).map((texts) => texts.client_name)].filter((one) => one !== undefined)),
];

/** The resources that a client would additionally hold if an administrator enabled it or approved its change. */
function claimsOf({ status, metadata, pendingMetadata }: Client): string[] {
  const holds = status === 'enabled' ? (metadata.resource_uris ?? []) : [];
  const wants = [...(metadata.resource_uris ?? []), ...(pendingMetadata?.resource_uris ?? [])];
  return [...new Set(wants)].filter((uri) => !holds.includes(uri));
}

export const reviewClients = pageOperation('clients', 'read', ({ store }, clients: readonly Client[]) =>
  lookUpReviews(store, clients),
);

/** The pending registration of a verification code, with the address that sent it. */
export const findRegistration = pageOperation('clients', 'read', async ({ store, secretBox }, code: string) => {
  const hashes = verificationCodeHashes(secretBox, 'verification code', code);
  const found = await store.deferredRegistrations.findByVerificationCode(hashes);
  // not from the cache: the administrator approves the version that the page shows
  const client = found && (await store.clients.find(found.clientId));
  return client && { client, address: found.address };
});
