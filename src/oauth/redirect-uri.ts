// Decides which redirect URIs may be registered (security R24), and when a requested one matches (security R23).
import { refusal, type Refusal } from './refusals.ts';

type ApplicationType = 'web' | 'native';

const loopback = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:\d{1,5})?(?=[/?]|$)/;

/** Whether it is a normalized URL with https, or with http on a loopback host, without user information and fragment (RFC 9700 4.1). */
export function isWebUri(uri: string): boolean {
  const url = parseHosted(uri);
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
}

/** Whether it is http on the user's own computer: a loopback address, or the name localhost. */
export function isLoopbackUri(uri: string): boolean {
  return loopback.test(uri);
}

/** Whether it is http on the name localhost, which LOOPBACK_LOCALHOST allows or forbids (security R24). */
export function isLocalhostUri(uri: string): boolean {
  return /^http:\/\/localhost(?=[:/?#]|$)/.test(uri);
}

/**
 * Whether it may be registered as a redirect URI: a web URI, or for native clients a private-use scheme (RFC 8252 7.1).
 * @param admitted whether an administrator admits it, or will decide about it
 * @param development whether an administrator made the client one of development (delivery 3)
 */
export function isRedirectUri(
  uri: string,
  applicationType: ApplicationType,
  localhost = true,
  admitted = false,
  development = false,
): boolean {
  if (isLocalhostUri(uri) && !localhost) return false;
  const isOfApplication = isPrivateUseUri(uri) && (admitted || !needsAdmission(uri));
  if (isWebUri(uri) || (development && isDevelopmentUri(uri))) return true;
  return applicationType === 'native' && isOfApplication;
}

const privateAddress = /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.)\d{1,3}\.\d{1,3}(\.\d{1,3})?$|^\[f[cd][0-9a-f]{2}:/;
/** Names that only a private network can have: a single label, or below a domain that is never delegated (RFC 2606, 6762, 8375). */
const privateName = /^[a-z0-9-]*[a-z][a-z0-9-]*$|^[^:[]+\.(local|lan|home\.arpa|test|internal)$/;

/** Whether it is http at an address or a name of a private network, which only a client of development may use. */
export function isDevelopmentUri(uri: string): boolean {
  const url = parseHosted(uri);
  if (url?.protocol !== 'http:' || isLoopback(url.hostname)) return false;
  return privateAddress.test(url.hostname) || privateName.test(url.hostname);
}

/** Schemes that belong to the browser or to the operating system: no application can own one. */
const neverOwned =
  /^(javascript|data|file|blob|vbscript|about|wss?|mailto|tel|sms|intent|view-source|chrome.*|moz-extension|filesystem|ftp|https?):$/;

/** Whether it has a private-use scheme without a dot, such as cursor://callback, which only an administrator admits (RFC 8252 8.4). */
export function needsAdmission(uri: string): boolean {
  return isPrivateUseUri(uri) && !new URL(uri).protocol.includes('.');
}

/** Returns why a redirect URI may not be registered; its sentence says what to use instead. */
export function redirectRefusal(
  member: string,
  uri: string,
  applicationType: ApplicationType,
  localhost = true,
  development = false,
): Refusal {
  const hosts = localhost ? '127.0.0.1, [::1] and localhost' : '127.0.0.1 and [::1]';
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase();
  if (!localhost && isLocalhostUri(uri)) return refusal('localhost.redirect-uri', member);
  if (scheme === undefined) return refusal('address.relative', member);
  if (uri.includes('#')) return refusal('address.fragment', member);
  if (uri.length > 2000) return refusal('address.length', member);
  if (scheme === 'http' && URL.canParse(uri) && !isLoopback(new URL(uri).hostname))
    return development ? refusal('address.development', member) : refusal('address.http', member, { hosts });
  if (scheme !== 'http' && scheme !== 'https') {
    return applicationType === 'native'
      ? refusal('address.native-scheme', member)
      : refusal('address.web-scheme', member, { hosts });
  }
  return refusal('address.form', member);
}

/** Whether a request object may be fetched from it. A fragment names the version of the object (OpenID Connect Core 6.2). */
export function isRequestUri(uri: string): boolean {
  return uri.length <= 2000 && /^[!-~]+$/.test(uri) && isWebUri(uri.split('#')[0]!);
}

/** Whether scheme, host and port are the same (RFC 6454). A private-use scheme has no origin. */
export function isSameOrigin(a: string, b: string): boolean {
  const { origin } = new URL(a);
  return origin !== 'null' && origin === new URL(b).origin;
}

/** Whether it can name a resource: an absolute URI without a fragment (RFC 8707 2). */
export function isResourceUri(uri: string): boolean {
  return uri.length <= 2000 && /^[a-z][a-z0-9+.-]*:[!-~]+$/i.test(uri) && !uri.includes('#') && URL.canParse(uri);
}

/** Whether it has a private-use scheme: one in reverse-domain form, such as com.example.app:/cb, or one without a dot. */
export function isPrivateUseUri(uri: string): boolean {
  const url = parse(uri);
  if (url === undefined || uri.includes('#')) return false;
  return /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)*:$/.test(url.protocol) && !neverOwned.test(url.protocol);
}

/**
 * Returns the registered redirect URI that equals the requested one. Only the port of a native client's loopback address
 * may differ (RFC 8252 7.3, security R23).
 * @param localhost whether the name localhost counts as a loopback address
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

/** Whether the requested redirect URI matches a registered one. */
export function matchesRedirectUri(
  registered: readonly string[],
  requested: string,
  applicationType: ApplicationType,
  localhost = true,
): boolean {
  return registeredRedirectUri(registered, requested, applicationType, localhost) !== undefined;
}

/** Adds parameters to the query of a redirect URI, and keeps the query that it has (RFC 6749 3.1.2). */
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

/** Parses a normalized URL that has an unambiguous host and no fragment. */
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
  // the parser adds the path "/" to "https://rp.example": both are the same address
  const exact = url.href === uri || url.href === `${uri}/`;
  return exact && !url.username && !url.password && !uri.includes('@') ? url : undefined;
}
