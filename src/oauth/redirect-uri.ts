// Redirect URIs: which may be registered, and when a requested one is the registered one.

const loopbackLiteral = /^http:\/\/(127\.0\.0\.1|\[::1\])(:\d{1,5})?(?=[/?]|$)/;

/** https anywhere or http on loopback, as it stands after parsing, without user information or fragment (RFC 9700 4.1). */
export function isWebUri(uri: string): boolean {
  const url = parse(uri);
  if (
    !url ||
    url.hash ||
    uri.includes('#') ||
    !url.hostname ||
    url.hostname.endsWith('.') ||
    /[;,']/.test(url.hostname)
  )
    return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
}

/**
 * May this be registered as a redirect URI? Exact, normalised, https; http only on loopback; a reverse-domain
 * private-use scheme only for native clients (RFC 8252 section 7.1).
 */
export function isRedirectUri(uri: string, applicationType: 'web' | 'native'): boolean {
  if (isWebUri(uri)) return true;
  return applicationType === 'native' && isPrivateUseUri(uri);
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
 * The requested redirect URI is a registered one: octet by octet, but for the port of a loopback literal
 * (RFC 8252 section 7.3).
 */
export function matchesRedirectUri(registered: readonly string[], requested: string): boolean {
  if (registered.includes(requested)) return true;
  if (!loopbackLiteral.test(requested)) return false;
  const port = loopbackLiteral.exec(requested)?.[2];
  if (port !== undefined && Number(port.slice(1)) > 65_535) return false;
  const bare = withoutPort(requested);
  return registered.some((uri) => loopbackLiteral.test(uri) && withoutPort(uri) === bare);
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

function isLoopbackHost(hostname: string): boolean {
  return hostname === '127.0.0.1' || hostname === '[::1]';
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
