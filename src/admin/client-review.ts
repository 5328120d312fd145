// Words for pages the facts by which an administrator reviews a client: redirect hosts, similar names, and resources that other clients hold.
import { documentName, hasOnlyLoopback, otherHosts } from '../oauth/client-document.ts';
import { addressesOf } from '../oauth/client-addresses.ts';
import { needsAdmission } from '../oauth/redirect-uri.ts';
import type { LookAlike } from '../repositories/clients/client-review.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { DocumentFacts, ReviewFacts } from '../pages/views/console-clients.ts';
import type { FormView } from '../pages/views/parts.ts';
import { hostsOf, type ReviewLookup } from './operations/pages/client-reviews.ts';

export const clientPath = (clientId: string): string => `/admin/clients/${encodeURIComponent(clientId)}`;

export const resourcePath = (id: string): string => `/admin/resources/${encodeURIComponent(id)}`;

/** What a pending change adds to the addresses of a client that only an administrator admits. */
export const waitingAddresses = ({ metadata, pendingMetadata }: Client): string[] =>
  pendingMetadata
    ? addressesOf(pendingMetadata).filter((uri) => needsAdmission(uri) && !addressesOf(metadata).includes(uri))
    : [];

const isLocal = (host: string): boolean => /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/.test(host);

/** Returns each redirect host with its facts. @param approved the redirect URIs before a change */
export function hostFacts(
  uris: readonly string[],
  approved: readonly string[],
  { hosts }: ReviewLookup,
): ReviewFacts['hosts'] {
  const before = hostsOf(approved);
  return hostsOf(uris).map((host) => {
    const known = hosts.get(host);
    const facts = { host, clients: known?.clients ?? 0, local: isLocal(host), fresh: !before.includes(host) };
    return known?.since ? { ...facts, since: known.since } : facts;
  });
}

/** Returns the enabled clients whose names look like that of this client. @param dismissal makes the form that dismisses a warning */
export const alike = (
  client: Client,
  { lookAlikes }: ReviewLookup,
  dismissal?: (client: Client, other: LookAlike) => FormView,
): ReviewFacts['lookAlikes'] =>
  (lookAlikes.get(client.clientId) ?? []).map((other) => ({
    name: other.name,
    uri: clientPath(other.clientId),
    same: other.same,
    ...(dismissal && { dismissal: dismissal(client, other) }),
  }));

/** What an administrator reviews of a client that is known by its document; undefined for any other. */
export function documentFacts(
  { clientId, origin, metadata, pendingMetadata, documentGone }: Client,
  { askers }: ReviewLookup,
): DocumentFacts | undefined {
  if (origin !== 'document') return undefined;
  const wanted = pendingMetadata ?? metadata;
  return {
    name: documentName(clientId),
    uri: clientId,
    askers: askers.get(clientId) ?? { count: 0, usernames: [] },
    otherHosts: hostsOf(otherHosts(clientId, wanted)),
    onlyLoopback: hasOnlyLoopback(wanted),
    gone: documentGone,
  };
}

/** Returns the claimed resources that other clients hold: they prevent an approval. */
export const heldBy = (client: Client, { heldResources }: ReviewLookup): ReviewFacts['heldResources'] =>
  (heldResources.get(client.clientId) ?? []).map(({ uri, resourceId, clientId, name }) => ({
    uri,
    holder: name ?? clientId ?? uri,
    holderUri: clientId === undefined ? resourcePath(resourceId) : clientPath(clientId),
  }));
