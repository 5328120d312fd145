// What is known here of a client's redirect hosts and of names like its own: for the console, and for whoever decides by a code.
import { redirectHost } from '../oauth/client-metadata.ts';
import type { KnownHost, LookAlike } from '../repositories/client-judgement.ts';
import type { Client } from '../repositories/clients.ts';
import type { Store } from '../repositories/index.ts';
import type { Judgement } from './views/console-clients.ts';

export const clientPath = (clientId: string): string => `/admin/clients/${encodeURIComponent(clientId)}`;

export const hostsOf = (uris: readonly string[]): string[] => [
  ...new Set(uris.map((uri) => redirectHost(uri).slice(0, 255))),
];

/** What is known of clients' hosts and names: asked once for a whole page. */
export interface Knowledge {
  hosts: Map<string, KnownHost>;
  lookAlikes: Map<string, LookAlike[]>;
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
  const [hosts, lookAlikes, origins] = await Promise.all([
    clientJudgement.hosts(hostsOf(asked.flatMap(({ all }) => all))),
    clientJudgement.lookAlikes(asked.map(({ clientId, metadata }) => ({ clientId, name: metadata.client_name }))),
    clientJudgement.origins(asked.map(({ clientId }) => clientId)),
  ]);
  return { hosts: new Map(hosts.map((host) => [host.host, host])), lookAlikes, origins };
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
