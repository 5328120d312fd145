// Decides about subject types: the sector of a client with pairwise subjects, and its checks (OpenID Connect Core 8).
import { isDeepStrictEqual } from 'node:util';
import { refusal, type Refusal } from './refusals.ts';

export const subjectTypes = ['public', 'pairwise'] as const;

interface Metadata {
  subject_type: (typeof subjectTypes)[number];
  sector_identifier_uri?: string | undefined;
  redirect_uris: string[];
}

/** Returns the sector identifier, a host (Core 8.1); undefined for a client with public subjects. */
export function sectorIdentifier(metadata: Metadata): string | undefined {
  if (metadata.subject_type !== 'pairwise') return undefined;
  return new URL(metadata.sector_identifier_uri ?? metadata.redirect_uris[0]!).hostname;
}

/** Returns what is wrong with a client's sector, as far as its metadata shows. */
export function sectorRefusal(metadata: Metadata): Refusal | undefined {
  if (metadata.subject_type !== 'pairwise') return undefined;
  if (metadata.redirect_uris.length === 0) return refusal('pairwise.none', 'subject_type');
  if (sectorIdentifier(metadata)!.length > 253) return refusal('sector-document.host', 'sector_identifier_uri');
  if (metadata.sector_identifier_uri !== undefined) return undefined;
  const urls = metadata.redirect_uris.map((uri) => new URL(uri));
  if (new Set(urls.map((url) => url.hostname)).size > 1) return refusal('sector-hosts', 'redirect_uris');
  // all clients on a loopback address or with a private-use scheme would share one sector
  if (urls[0]?.protocol !== 'https:') return refusal('pairwise.loopback', 'subject_type');
  return undefined;
}

/** Whether the document at sector_identifier_uri has to be fetched: for a new URI, and for changed redirect URIs. */
export function needsSectorCheck(metadata: Metadata, current: Metadata | undefined): boolean {
  if (metadata.sector_identifier_uri === undefined) return false;
  return (
    metadata.sector_identifier_uri !== current?.sector_identifier_uri ||
    !isDeepStrictEqual(metadata.redirect_uris, current.redirect_uris)
  );
}
