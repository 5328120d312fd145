// Checks every request before it reaches a route: it has one host, a readable address, a method of that address, and one Authorization header.
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { invalidRequest, OAuthError } from '../oauth/errors.ts';
import { isPercentEncoded } from './parameters.ts';
import { isSwitchedOff } from './switched-off.ts';

const maxUrl = 8 * 1024;
/** Bytes of the request line and the headers (security R103). */
export const maxHeaders = 16 * 1024;

/** Refuses a request whose host, framing or address cannot be read in one way only. */
export function syntaxRefusal({ url, headers, raw }: FastifyRequest): OAuthError | undefined {
  // RFC 9112 3.2: HTTP/1.1 names the host
  if (headers.host === undefined && raw.httpVersion === '1.1') return invalidRequest('the header Host is missing');
  // RFC 9112 6.1, 6.3: the end of such a body is unknown, and another reader may see two requests in it
  if ((headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked')
    return invalidRequest('the only supported Transfer-Encoding is chunked');
  // the connection ends, as with headers that cannot be read at all
  if (sizeOf(url, raw.rawHeaders) > maxHeaders)
    return new OAuthError('invalid_request', 'the headers are too large', 431, { headers: { connection: 'close' } });
  if (url.length > maxUrl) return new OAuthError('invalid_request', 'the URL is too long: use at most 8 KiB', 414);
  const query = url.indexOf('?');
  // browsers send no such query (security R107)
  if (query >= 0 && (/[^!-~]/.test(url) || !isPercentEncoded(url.slice(query))))
    return invalidRequest('the query is not percent-encoded UTF-8');
  return undefined;
}

/** As Node counts it. */
function sizeOf(url: string, rawHeaders: readonly string[]): number {
  let size = url.length;
  for (const text of rawHeaders) size += text.length;
  return size;
}

/** Refuses a second Authorization header: Node takes the first of two, and a proxy may have believed the last (security R37). */
export function authorizationRefusal({ headers, raw }: FastifyRequest): OAuthError | undefined {
  if (headers.authorization === undefined || !isRepeated(raw.rawHeaders, 'authorization')) return undefined;
  return invalidRequest('the header Authorization is repeated');
}

/**
 * Whether a request has a header twice: Node uses the first of two Host headers, and a proxy in front may have used the other
 * (RFC 9112 3.2, security R98).
 * @param rawHeaders names and values in turn, as they were sent
 * @param wanted in lower case
 */
export function isRepeated(rawHeaders: readonly string[], wanted: string): boolean {
  let found = false;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length !== wanted.length || name.toLowerCase() !== wanted) continue;
    if (found) return true;
    found = true;
  }
  return false;
}

/**
 * Makes the check that refuses a method which a known address does not answer: 405 with Allow (RFC 9110 15.5.6).
 * @param crossOriginPaths the addresses, as routes name them, that answer a preflight themselves
 */
export function createMethodCheck(app: FastifyInstance, crossOriginPaths: readonly string[]) {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => {
    if (!route.url.includes('*')) routes.push(route);
  });
  return (request: FastifyRequest): OAuthError | undefined => {
    if (!request.is404 && request.method !== 'OPTIONS') return undefined;
    const path = request.url.split('?')[0]!;
    const { origin, 'access-control-request-method': asked } = request.headers;
    // one route answers the preflights of all addresses, so that any other OPTIONS request reaches it too
    const isPreflight =
      origin !== undefined && asked !== undefined && crossOriginPaths.some((route) => matches(route, path));
    if (!request.is404 && isPreflight) return undefined;
    const url = routes.find((route) => matches(route.url, path) && !isSwitchedOff(route))?.url;
    if (url === undefined) return undefined;
    const known = routes.filter((route) => route.url === url).flatMap(({ method }) => method);
    // of the few addresses that answer OPTIONS themselves
    if (known.includes(request.method)) return undefined;
    const headers = { allow: [...new Set(known)].join(', ') };
    return new OAuthError('invalid_request', 'this URL does not support this method', 405, { headers });
  };
}

/** Whether a path is an address of a route: a segment of the route that begins with a colon takes any but the empty one. */
export function matches(route: string, path: string): boolean {
  const expected = route.split('/');
  const given = path.split('/');
  return (
    expected.length === given.length &&
    expected.every((part, index) => (part.startsWith(':') ? given[index] !== '' : part === given[index]))
  );
}
