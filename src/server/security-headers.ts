// The headers of every response (security requirements R57, R96), and what is refused before any route: requests to no host, long and malformed addresses, wrong methods.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidRequest, OAuthError } from '../oauth/errors.ts';
import { jsonErrors } from './errors.ts';
import { isPercentEncoded } from './parameters.ts';

const maxUrl = 8 * 1024;

export function headersOfEveryResponse(https: boolean): Record<string, string> {
  return {
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'content-security-policy': `default-src 'none'; base-uri 'none'; frame-ancestors 'none'`,
    ...(https && { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }),
  };
}

/** @param crossOriginPaths the addresses, as routes name them, that answer a preflight themselves */
export function securityHeaders(app: FastifyInstance, https: boolean, crossOriginPaths: readonly string[]): void {
  const headers = headersOfEveryResponse(https);
  // with a callback: it runs for every request, and has nothing to wait for
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers);
    // no page of an address: nobody knows whose it would be
    if (isRepeated(request.raw.rawHeaders, 'host'))
      jsonErrors(invalidRequest('the header Host is there twice'), request, reply);
    else done(refusal(request));
  });
  refuseOtherMethods(app, crossOriginPaths);
}

/** What no route gets to see, whatever its address. */
function refusal({ url, headers, raw }: FastifyRequest): OAuthError | undefined {
  // RFC 9112 3.2: HTTP/1.1 names the host
  if (headers.host === undefined && raw.httpVersion === '1.1') return invalidRequest('the header Host is missing');
  // RFC 9112 6.1, 6.3: what ends such a body is not known, and another reader may see two requests in it
  if ((headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked')
    return invalidRequest('of Transfer-Encoding only chunked is known');
  if (url.length > maxUrl) return new OAuthError('invalid_request', 'the address is too long: it may have 8 KiB', 414);
  const query = url.indexOf('?');
  // what no browser sends, and no reader could read back (security R107)
  if (query >= 0 && (/[^!-~]/.test(url) || !isPercentEncoded(url.slice(query))))
    return invalidRequest('the query is not percent-encoded UTF-8');
  return undefined;
}

/**
 * Whether a header was sent twice: of two Host headers Node takes the first, and a proxy before it may have gone by the other
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

/** 405 with Allow for a known address that is asked with another method (RFC 9110 15.5.6). */
function refuseOtherMethods(app: FastifyInstance, crossOriginPaths: readonly string[]): void {
  const methods = new Map<string, Set<string>>();
  app.addHook('onRoute', (route) => {
    if (route.url.includes('*')) return;
    const known = methods.get(route.url) ?? new Set<string>();
    for (const method of [route.method].flat()) known.add(method);
    methods.set(route.url, known);
  });
  app.addHook('onRequest', (request, _reply, done) => {
    if (!request.is404 && request.method !== 'OPTIONS') return done();
    const path = request.url.split('?')[0]!;
    const { origin, 'access-control-request-method': asked } = request.headers;
    const preflight =
      origin !== undefined && asked !== undefined && crossOriginPaths.some((route) => matches(route, path));
    // the route that preflights come by takes OPTIONS of every address
    const ownless = request.method === 'OPTIONS' && !preflight;
    if (!request.is404 && !ownless) return done();
    const known = [...methods].find(([url]) => matches(url, path))?.[1];
    if (!known) return done();
    const headers = { allow: [...known].join(', ') };
    done(new OAuthError('invalid_request', 'this address does not answer that method', 405, { headers }));
  });
}

/** Whether a path is an address of a route: a part that begins with a colon is any that is not empty. */
export function matches(route: string, path: string): boolean {
  const expected = route.split('/');
  const given = path.split('/');
  return (
    expected.length === given.length &&
    expected.every((part, index) => (part.startsWith(':') ? given[index] !== '' : part === given[index]))
  );
}
