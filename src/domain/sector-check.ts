// The document at a client's sector_identifier_uri, which has to name every redirect URI of the client (OpenID Connect Core 8.1, Registration 5).
import type { ClientMetadata } from '../oauth/client-metadata.ts';
import { OAuthError } from '../oauth/errors.ts';
import { FetchRefused, type GuardedFetch } from '../outbound/guarded-fetch.ts';

/** @throws OAuthError invalid_client_metadata */
export type CheckSector = (metadata: ClientMetadata) => Promise<void>;

export function createSectorCheck(fetchDocument: GuardedFetch): CheckSector {
  return async ({ sector_identifier_uri: uri, redirect_uris }) => {
    if (uri === undefined) return;
    let listed: unknown;
    try {
      listed = JSON.parse(await fetchDocument(uri));
    } catch (error) {
      if (!(error instanceof FetchRefused) && !(error instanceof SyntaxError)) throw error;
      // one sentence for all reasons: a registrant learns nothing about what the service can reach
      throw refused(
        'sector_identifier_uri must answer with 200 and a JSON array, over https and from a public address',
        error,
      );
    }
    if (!Array.isArray(listed)) throw refused('the document at sector_identifier_uri must be a JSON array');
    if (!redirect_uris.every((redirectUri) => listed.includes(redirectUri)))
      throw refused('the document at sector_identifier_uri must hold every one of redirect_uris');
  };
}

function refused(description: string, cause?: unknown): OAuthError {
  return new OAuthError('invalid_client_metadata', description, 400, { cause });
}
