// Redirect URIs: which may be registered (security R24), and when a requested one is the registered one (security R23).
import { refusal, type Refusal } from './refusals.ts';

type ApplicationType = 'web' | 'native';

const loopback = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:\d{1,5})?(?=[/?]|$)/;

/** https anywhere or http on a loopback host, as it stands after parsing, without user information or fragment (RFC 9700 4.1). */
export function isWebUri(uri: string): boolean {
  const url = parseHosted(uri);
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
}

/** Whether it is http on the name localhost, which the setting LOOPBACK_LOCALHOST allows or not (security R24). */
export function isLocalhostUri(uri: string): boolean {
  return /^http:\/\/localhost(?=[:/?#]|$)/.test(uri);
}

/**
 * May this be registered as a redirect URI? Exact, normalised, https, or http on a loopback host; native clients may also
 * have a reverse-domain private-use scheme (RFC 8252 7.1).
 */
export function isRedirectUri(uri: string, applicationType: ApplicationType, localhost = true): boolean {
  if (isLocalhostUri(uri) && !localhost) return false;
  return isWebUri(uri) || (applicationType === 'native' && isPrivateUseUri(uri));
}

/** Says why an address may not be registered, by what to use instead. */
export function redirectRefusal(
  member: string,
  uri: string,
  applicationType: ApplicationType,
  localhost = true,
): Refusal {
  const hosts = localhost ? '127.0.0.1, [::1] and localhost' : '127.0.0.1 and [::1]';
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase();
  if (!localhost && isLocalhostUri(uri)) return refusal('localhost.redirect-uri', member);
  if (scheme === undefined) return refusal('address.relative', member);
  if (uri.includes('#')) return refusal('address.fragment', member);
  if (uri.length > 2000) return refusal('address.length', member);
  if (scheme === 'http' && URL.canParse(uri) && !isLoopback(new URL(uri).hostname))
    return refusal('address.http', member, { hosts });
  if (scheme !== 'http' && scheme !== 'https') {
    return applicationType === 'native'
      ? refusal('address.native-scheme', member)
      : refusal('address.web-scheme', member, { hosts });
  }
  return refusal('address.form', member);
}

/** Where a request object may be fetched from; a fragment only tells its versions apart (OpenID Connect Core 6.2). */
export function isRequestUri(uri: string): boolean {
  return uri.length <= 2000 && /^[!-~]+$/.test(uri) && isWebUri(uri.split('#')[0]!);
}

/** Scheme, host and port are the same (RFC 6454); private-use schemes have no origin that could be. */
export function isSameOrigin(a: string, b: string): boolean {
  const { origin } = new URL(a);
  return origin !== 'null' && origin === new URL(b).origin;
}

/** An absolute URI that names a resource server: no fragment (RFC 8707 section 2). */
export function isResourceUri(uri: string): boolean {
  return uri.length <= 2000 && /^[a-z][a-z0-9+.-]*:[!-~]+$/i.test(uri) && !uri.includes('#') && URL.canParse(uri);
}

/** A private-use scheme in reverse-domain form, e.g. com.example.app:/cb. */
export function isPrivateUseUri(uri: string): boolean {
  const url = parse(uri);
  return url !== undefined && !uri.includes('#') && /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/.test(url.protocol);
}

/**
 * The registered redirect URI that the requested one is: octet by octet, but for the port of a native client's loopback
 * address (RFC 8252 section 7.3, security R23).
 * @param localhost whether the name localhost is a loopback address
 */
export function registeredRedirectUri(
  registered: readonly string[],
  requested: string,
  applicationType: ApplicationType,
  localhost = true,
): string | undefined {
  if (registered.includes(requested)) return requested;
  const [, host, port] = (applicationType === 'native' && loopback.exec(requested)) || [];
  if (host === undefined || (host === 'localhost' && !localhost)) return undefined;
  if (port !== undefined && Number(port.slice(1)) > 65_535) return undefined;
  const bare = withoutPort(requested);
  return registered.find((uri) => loopback.test(uri) && withoutPort(uri) === bare);
}

/** Whether the requested redirect URI is a registered one. */
export function matchesRedirectUri(
  registered: readonly string[],
  requested: string,
  applicationType: ApplicationType,
  localhost = true,
): boolean {
  return registeredRedirectUri(registered, requested, applicationType, localhost) !== undefined;
}

/** Adds parameters to a redirect URI's query, keeping what it has (RFC 6749 3.1.2). */
export function withQuery(uri: string, parameters: Iterable<[string, string]>): string {
  const query = new URLSearchParams([...parameters]).toString();
  if (!query) return uri;
  return uri + (uri.includes('?') ? (/[?&]$/.test(uri) ? '' : '&') : '?') + query;
}

function withoutPort(uri: string): string {
  return uri.replace(loopback, 'http://$1');
}

function isLoopback(hostname: string): boolean {
  return ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
}

/** A normalised URL with a host that needs no second look, and without a fragment. */
function parseHosted(uri: string): URL | undefined {
  const url = parse(uri);
  const plain = url?.hostname && !uri.includes('#') && !url.hostname.endsWith('.') && !/[;,']/.test(url.hostname);
  return plain ? url : undefined;
}

function parse(uri: string): URL | undefined {
  if (uri.length > 2000 || !/^[!-~]+$/.test(uri) || /[\\*<>"`{}|^]/.test(uri) || /%00/.test(uri)) return undefined;
  let url: URL;
  try {
    url = new URL(uri);
  } catch {
    return undefined;
  }
  // a URL without a path is the same address with one: "https://rp.example" is accepted as it was sent
  const exact = url.href === uri || url.href === `${uri}/`;
  return exact && !url.username && !url.password && !uri.includes('@') ? url : undefined;
}
