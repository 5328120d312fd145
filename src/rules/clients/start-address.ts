// Finds the address at which a user begins to use a client (federation 7, OpenID Connect Core 4).
import type { ClientMetadata } from '../../oauth/client-metadata.ts';
import { isSameOrigin } from '../../oauth/redirect-uri.ts';

/** The client, as far as its address depends on it. */
export interface StartClient {
  startUri: string | undefined;
  metadata: Pick<ClientMetadata, 'initiate_login_uri' | 'redirect_uris'>;
  approvedBy: string | undefined;
}

/**
 * The start_uri that an administrator stored, or the initiate_login_uri with the issuer; undefined if there is neither. A registrant changes
 * initiate_login_uri without an approval, so that it counts only at the origin of a redirect URI, which was approved. A client without
 * an approval has no start address.
 */
export function startAddress({ startUri, metadata, approvedBy }: StartClient, issuer: string): string | undefined {
  if (startUri !== undefined) return startUri;
  const { initiate_login_uri: login, redirect_uris: redirects } = metadata;
  if (login === undefined || approvedBy !== 'administrator') return undefined;
  if (!redirects.some((uri) => isSameOrigin(uri, login))) return undefined;
  const address = new URL(login);
  address.searchParams.set('iss', issuer);
  return address.href;
}
