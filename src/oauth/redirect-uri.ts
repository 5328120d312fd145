// Redirect URIs: which may be registered (security R24), and when a requested one is the registered one (security R23).

type ApplicationType = 'web' | 'native';

const loopbackLiteral = /^http:\/\/(127\.0\.0\.1|\[::1\])(:\d{1,5})?(?=[/?]|$)/;

/** https anywhere or http on a loopback literal, as it stands after parsing, without user information or fragment (RFC 9700 4.1). */
export function isWebUri(uri: string): boolean {
  const url = parseHosted(uri);
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackLiteral(url.hostname));
}

/**
 * May this be registered as a redirect URI? Exact, normalised, https, or http on a loopback literal; native clients
 * may also have http on localhost (OpenID Connect Registration 2) and a reverse-domain private-use scheme (RFC 8252 7.1).
 */
export function isRedirectUri(uri: string, applicationType: ApplicationType): boolean {
  return isWebUri(uri) || (applicationType === 'native' && (isLocalhostUri(uri) || isPrivateUseUri(uri)));
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
 * literal (RFC 8252 section 7.3). The name localhost is compared like any other.
 */
export function registeredRedirectUri(
  registered: readonly string[],
  requested: string,
  applicationType: ApplicationType,
): string | undefined {
  if (registered.includes(requested)) return requested;
  if (applicationType !== 'native' || !loopbackLiteral.test(requested)) return undefined;
  const port = loopbackLiteral.exec(requested)?.[2];
  if (port !== undefined && Number(port.slice(1)) > 65_535) return undefined;
  const bare = withoutPort(requested);
  return registered.find((uri) => loopbackLiteral.test(uri) && withoutPort(uri) === bare);
}

/** Whether the requested redirect URI is a registered one. */
export function matchesRedirectUri(
  registered: readonly string[],
  requested: string,
  applicationType: ApplicationType,
): boolean {
  return registeredRedirectUri(registered, requested, applicationType) !== undefined;
}

/** Adds parameters to a redirect URI's query, keeping what it has (RFC 6749 3.1.2). */
export function withQuery(uri: string, parameters: Iterable<[string, string]>): string {
  const query = new URLSearchParams([...parameters]).toString();
  if (!query) return uri;
  return uri + (uri.includes('?') ? (/[?&]$/.test(uri) ? '' : '&') : '?') + query;
}

function withoutPort(uri: string): string {
  return uri.replace(loopbackLiteral, 'http://$1');
}

function isLocalhostUri(uri: string): boolean {
  const url = parseHosted(uri);
  return url?.protocol === 'http:' && url.hostname === 'localhost';
}

function isLoopbackLiteral(hostname: string): boolean {
  return hostname === '127.0.0.1' || hostname === '[::1]';
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
