// Checks that the document at a client's sector_identifier_uri names every redirect URI of the client (OpenID Connect Core 8.1, Registration 5).
import type { ClientMetadata } from '../../oauth/client-metadata.ts';
import { OAuthError } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import { FetchRefused, type GuardedFetch } from '../../outbound/guarded-fetch.ts';

/** @throws OAuthError invalid_client_metadata */
export type CheckSector = (metadata: ClientMetadata) => Promise<void>;

/** The most documents of unapproved clients that one instance fetches at the same time. Each fetch may take the five seconds of the guarded fetcher. */
const maxUnapproved = 8;

export function createSectorCheck(fetchDocument: GuardedFetch): CheckSector {
  return async ({ sector_identifier_uri: uri, redirect_uris }) => {
    if (uri === undefined) return;
    const listed = await fetchList(fetchDocument, uri);
    if (!Array.isArray(listed)) throw refused('sector-document.array');
    if (!redirect_uris.every((redirectUri) => listed.includes(redirectUri))) throw refused('sector-document.entries');
  };
}

/**
 * The check for clients that no administrator has approved. Anyone can register such a client. So OUTBOUND_ALLOW opens no host to this check, every
 * fault of a document has the same answer, and the number of concurrent fetches is limited (security R47, R113).
 * @param fetchPublic fetches from public addresses only
 * @throws OAuthError temporarily_unavailable
 */
export function createUnapprovedSectorCheck(fetchPublic: GuardedFetch): CheckSector {
  let running = 0;
  return async ({ sector_identifier_uri: uri, redirect_uris }) => {
    if (uri === undefined) return;
    if (running >= maxUnapproved)
      throw new OAuthError('temporarily_unavailable', 'too many registrations wait for their sector document', 503, {
        headers: { 'retry-after': '5' },
      });
    running++;
    try {
      const listed = await fetchList(fetchPublic, uri, 'sector-document.any');
      if (!Array.isArray(listed) || !redirect_uris.every((redirectUri) => listed.includes(redirectUri)))
        throw refused('sector-document.any');
    } finally {
      running--;
    }
  };
}

type SectorFault = `sector-document.${'answer' | 'any' | 'array' | 'entries'}`;

async function fetchList(
  fetchDocument: GuardedFetch,
  uri: string,
  fault: SectorFault = 'sector-document.answer',
): Promise<unknown> {
  try {
    return JSON.parse(await fetchDocument(uri));
  } catch (error) {
    if (!(error instanceof FetchRefused) && !(error instanceof SyntaxError)) throw error;
    // every reason has the same message: a client learns nothing about the networks that the service reaches
    throw refused(fault, error);
  }
}

function refused(code: SectorFault, cause?: unknown): OAuthError {
  return new OAuthError('invalid_client_metadata', refusal(code, 'sector_identifier_uri'), 400, { cause });
}
