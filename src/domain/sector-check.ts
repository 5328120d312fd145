// Checks that the document at a client's sector_identifier_uri names every redirect URI of the client (OpenID Connect Core 8.1, Registration 5).
import type { ClientMetadata } from '../oauth/client-metadata.ts';
import { OAuthError } from '../oauth/errors.ts';
import { refusal } from '../oauth/refusals.ts';
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
      // the message is the same for every reason: a client learns nothing about the networks that the service reaches
      throw refused('sector-document.answer', error);
    }
    if (!Array.isArray(listed)) throw refused('sector-document.array');
    if (!redirect_uris.every((redirectUri) => listed.includes(redirectUri))) throw refused('sector-document.entries');
  };
}

function refused(code: `sector-document.${'answer' | 'array' | 'entries'}`, cause?: unknown): OAuthError {
  return new OAuthError('invalid_client_metadata', refusal(code, 'sector_identifier_uri'), 400, { cause });
}
