// What is known here of a client's redirect hosts and of names like its own: for the console, and for whoever decides by a code.
import { redirectHost } from '../oauth/client-metadata.ts';
import type { HeldResource, KnownHost, LookAlike } from '../repositories/clients/client-review.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { Store } from '../repositories/store.ts';
import type { Judgement } from '../pages/views/console-clients.ts';

export const clientPath = (clientId: string): string => `/admin/clients/${encodeURIComponent(clientId)}`;

export const hostsOf = (uris: readonly string[]): string[] => [
  ...new Set(uris.map((uri) => redirectHost(uri).slice(0, 255))),
];

/** What is known of clients' hosts and names: asked once for a whole page. */
export interface Knowledge {
  hosts: Map<string, KnownHost>;
  lookAlikes: Map<string, LookAlike[]>;
  heldResources: Map<string, HeldResource[]>;
  origins: Awaited<ReturnType<Store['clientJudgement']['origins']>>;
}

export async function knowledgeOf(
  { clientJudgement }: Pick<Store, 'clientJudgement'>,
  clients: readonly Client[],
): Promise<Knowledge> {
  const asked = clients.map(({ pendingMetadata, metadata, clientId }) => ({
    clientId,
    metadata: pendingMetadata ?? metadata,
    all: [...metadata.redirect_uris, ...(pendingMetadata?.redirect_uris ?? [])],
  }));
  const claims = clients.flatMap((client) => claimsOf(client).map((uri) => ({ clientId: client.clientId, uri })));
  const [hosts, lookAlikes, origins, heldResources] = await Promise.all([
    clientJudgement.hosts(hostsOf(asked.flatMap(({ all }) => all))),
    clientJudgement.lookAlikes(asked.map(({ clientId, metadata }) => ({ clientId, name: metadata.client_name }))),
    clientJudgement.origins(asked.map(({ clientId }) => clientId)),
    clientJudgement.heldResources(claims),
  ]);
  return { hosts: new Map(hosts.map((host) => [host.host, host])), lookAlikes, origins, heldResources };
}

const isLocal = (host: string): boolean => /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/.test(host);

/** Each redirect host with what is known of it. @param approved the addresses before a change */
export function hostFacts(
  uris: readonly string[],
  approved: readonly string[],
  { hosts }: Knowledge,
): Judgement['hosts'] {
  const before = hostsOf(approved);
  return hostsOf(uris).map((host) => {
    const known = hosts.get(host);
    const facts = { host, clients: known?.clients ?? 0, local: isLocal(host), fresh: !before.includes(host) };
    return known?.since ? { ...facts, since: known.since } : facts;
  });
}

/** Enabled clients whose names could be taken for this one's. */
export const alike = (client: Client, { lookAlikes }: Knowledge): Judgement['lookAlikes'] =>
  (lookAlikes.get(client.clientId) ?? []).map(({ clientId, name, same }) => ({
    name,
    uri: clientPath(clientId),
    same,
  }));

/** The resources that a client would hold beside its present ones if it were enabled, or its change approved. */
function claimsOf({ status, metadata, pendingMetadata }: Client): string[] {
  const holds = status === 'enabled' ? (metadata.resource_uris ?? []) : [];
  const wants = [...(metadata.resource_uris ?? []), ...(pendingMetadata?.resource_uris ?? [])];
  return [...new Set(wants)].filter((uri) => !holds.includes(uri));
}

/** The resources that keep an approval from being made, since other clients hold them. */
export const heldBy = (client: Client, { heldResources }: Knowledge): Judgement['heldResources'] =>
  (heldResources.get(client.clientId) ?? []).map(({ uri, clientId, name }) => ({
    uri,
    holder: name ?? clientId,
    holderUri: clientPath(clientId),
  }));
