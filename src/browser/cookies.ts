// Reads cookies by name, and ignores one that was sent twice: another site may have planted it (security R51, A70).
import type { FastifyRequest } from 'fastify';

/** Whether a cookie of the name was sent, once or more often. */
export function carries(request: FastifyRequest, name: string): boolean {
  return request.headers.cookie?.includes(`${name}=`) ?? false;
}

/** The cookie's value if it was sent exactly once. */
export function single(request: FastifyRequest, name: string): string | undefined {
  const { cookie } = request.headers;
  if (cookie === undefined) return undefined;
  // several cookies are read from one request
  let read = (request as Read)[readAs];
  if (read?.of !== cookie) (request as Read)[readAs] = read = { of: cookie, values: valuesOf(cookie) };
  return read.values.get(name);
}

const readAs = Symbol('read as');
type Read = FastifyRequest & { [readAs]?: { of: string; values: Map<string, string | undefined> } };

/** By name; undefined for a cookie that was sent more than once. */
function valuesOf(cookie: string): Map<string, string | undefined> {
  const values = new Map<string, string | undefined>();
  for (const part of cookie.split(';')) {
    const pair = part.trim();
    const end = pair.indexOf('=');
    if (end < 0) continue;
    const name = pair.slice(0, end);
    values.set(name, values.has(name) ? undefined : pair.slice(end + 1));
  }
  return values;
}

/** Whether the browser loads the response into a frame; in a page of another site it does not send the service's cookies (SameSite=Lax). */
export function isFramed(request: FastifyRequest): boolean {
  return request.headers['sec-fetch-dest'] === 'iframe';
}
