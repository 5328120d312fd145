// Decides which changes of a client's document take effect at once, which wait for an administrator's approval, and how long a version is fresh.
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config.ts';
import { addressesOf, withoutWaiting } from '../../oauth/client-addresses.ts';
import type { ClientMetadata } from '../../oauth/client-metadata.ts';
import { hasGivenTrust, type Trusted } from '../../rules/clients/given-trust.ts';
import { widens } from '../../rules/clients/widening-change.ts';
import type { Client, ClientChange } from '../../repositories/clients/clients.ts';

/** Whether a new document needs no approval. */
export function isTrusted(
  { clientDocuments: mode, clientDocumentHosts: hosts }: Pick<Config, 'clientDocuments' | 'clientDocumentHosts'>,
  clientId: string,
): boolean {
  return mode === 'automatic' || (mode === 'hosts' && hosts.includes(new URL(clientId).host));
}

/**
 * Decides about the changes of a document that was read again, by the rule of updates (security R45): the version that an administrator approved
 * stays until an administrator approves another one (security R141). A document that was missing for a day may have another author, so it waits
 * even without a change.
 * @param trusted whether new documents of this address need no approval
 */
export function documentChange(
  current: Trusted &
    Pick<Client, 'metadata' | 'pendingMetadata' | 'everEnabled' | 'selfManaged' | 'approvedBy' | 'documentGone'>,
  next: ClientMetadata,
  trusted: boolean,
): ClientChange {
  if (current.documentGone) return { pendingMetadata: next };
  // addresses that only an administrator may admit wait in every document (reports A5)
  const metadata = withoutWaiting(next, current.metadata);
  const waits = addressesOf(metadata).length < addressesOf(next).length;
  // rights that an administrator gave are for the version that the administrator looked at
  const isApproved = trusted && current.approvedBy === 'automatic' && !hasGivenTrust(current);
  const isReviewed = current.everEnabled && !current.selfManaged && !isApproved;
  if (isReviewed && widens(current.metadata, metadata)) return { pendingMetadata: next };
  const pendingMetadata = waits && !isApproved ? next : null;
  if (
    isDeepStrictEqual(current.metadata, metadata) &&
    isDeepStrictEqual(current.pendingMetadata ?? null, pendingMetadata)
  )
    return {};
  return { metadata, pendingMetadata };
}

const least = 300;
const most = 86_400;

/** The seconds for which the service does not read a document again, as its server says (RFC 9111 5.2.2), within bounds. */
export function freshness(cacheControl: string | undefined): number {
  const directives = (cacheControl ?? '')
    .toLowerCase()
    .split(',')
    .map((directive) => directive.trim());
  if (directives.some((directive) => directive === 'no-store' || directive === 'no-cache')) return least;
  const [, age] = directives.map((directive) => /^max-age="?(\d{1,10})"?$/.exec(directive)).find(Boolean) ?? [];
  return Math.min(most, Math.max(least, Number(age ?? 0)));
}
