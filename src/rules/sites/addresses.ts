// Names the addresses that a protected site has at its own host, and how its hosts become redirect URIs (federation 13).
import { invalidRequest } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';

export const callbackPath = '/.gatehouse/callback';
export const signOutPath = '/.gatehouse/sign-out';
export const callbackOf = (host: string): string => `https://${host}${callbackPath}`;
/** Where users begin to use a site, unless an administrator says otherwise. */
export const firstPageOf = (host: string): string => `https://${host}/`;

/**
 * The metadata that follows from the hosts of a protected site.
 * @throws OAuthError invalid_request without a host, or if this service is at one of them
 */
export function metadataOfHosts(given: readonly string[], issuer: string): { redirect_uris: string[] } {
  // a file has them as they were written
  const hosts = given.map((host) => host.trim().toLowerCase());
  if (hosts.length === 0) throw invalidRequest(refusal('missing', 'hosts'));
  if (hosts.includes(new URL(issuer).hostname)) throw invalidRequest(refusal('site-own-host', 'hosts'));
  return { redirect_uris: hosts.map(callbackOf) };
}
