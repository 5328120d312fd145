// Finds the address at which a user begins to use a client (federation 7, OpenID Connect Core 4).
import type { ClientMetadata } from '../../oauth/client-metadata.ts';
import { isSameOrigin } from '../../oauth/redirect-uri.ts';

/** The client, as far as its address depends on it. */
export interface StartClient {
  clientId: string;
  startUri: string | undefined;
  /** Whether sign-ins to a SAML application may begin here. */
  idpInitiated: boolean | undefined;
  metadata: Pick<ClientMetadata, 'initiate_login_uri' | 'redirect_uris'>;
  approvedBy: string | undefined;
}

/** Below the issuer, where a sign-in to a SAML application begins without its request (federation 9). */
export const samlStartPath = '/saml/start';

/**
 * The start_uri that an administrator stored, the start of a SAML application here, or the initiate_login_uri with the issuer; undefined if there is none. A registrant changes
 * initiate_login_uri without an approval, so that it counts only at the origin of a redirect URI, which was approved. A client without
 * an approval has no start address.
 */
export function startAddress(client: StartClient, issuer: string): string | undefined {
  const { clientId, startUri, idpInitiated, metadata, approvedBy } = client;
  if (startUri !== undefined) return startUri;
  if (idpInitiated) return `${issuer}${samlStartPath}/${encodeURIComponent(clientId)}`;
  const { initiate_login_uri: login, redirect_uris: redirects } = metadata;
  if (login === undefined || approvedBy !== 'administrator') return undefined;
  if (!redirects.some((uri) => isSameOrigin(uri, login))) return undefined;
  const address = new URL(login);
  address.searchParams.set('iss', issuer);
  return address.href;
}
