// Subject types (OpenID Connect Core 8): whether a client knows users by their public subject or by its sector's own.
import { isDeepStrictEqual } from 'node:util';
import { refusal, type Refusal } from './refusals.ts';

export const subjectTypes = ['public', 'pairwise'] as const;

interface Metadata {
  subject_type: (typeof subjectTypes)[number];
  sector_identifier_uri?: string | undefined;
  redirect_uris: string[];
}

/** Whose name a user has for the client: the host of its sector (Core 8.1); undefined where the subject is public. */
export function sectorIdentifier(metadata: Metadata): string | undefined {
  if (metadata.subject_type !== 'pairwise') return undefined;
  return new URL(metadata.sector_identifier_uri ?? metadata.redirect_uris[0]!).hostname;
}

/** What is wrong with a client's sector, as far as its metadata alone tells. */
export function sectorRefusal(metadata: Metadata): Refusal | undefined {
  if (metadata.subject_type !== 'pairwise') return undefined;
  if (metadata.redirect_uris.length === 0) return refusal('pairwise.none', 'subject_type');
  if (sectorIdentifier(metadata)!.length > 253) return refusal('sector-document.host', 'sector_identifier_uri');
  if (metadata.sector_identifier_uri !== undefined) return undefined;
  const urls = metadata.redirect_uris.map((uri) => new URL(uri));
  if (new Set(urls.map((url) => url.hostname)).size > 1) return refusal('sector-hosts', 'redirect_uris');
  // a loopback address and a scheme are nobody's own: all their clients would be one sector
  if (urls[0]?.protocol !== 'https:') return refusal('pairwise.loopback', 'subject_type');
  return undefined;
}

/** Whether the document of the sector has to be looked at: at first, and where what it vouches for changes. */
export function needsSectorCheck(metadata: Metadata, current: Metadata | undefined): boolean {
  if (metadata.sector_identifier_uri === undefined) return false;
  return (
    metadata.sector_identifier_uri !== current?.sector_identifier_uri ||
    !isDeepStrictEqual(metadata.redirect_uris, current.redirect_uris)
  );
}
