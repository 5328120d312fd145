// Names and reads cookies: a browser sends those of every service on a host, and a neighbour may plant some (security R51, A70).
import type { FastifyRequest } from 'fastify';
import { digest } from '../crypto/secrets.ts';

/** Tells the cookies of an issuer from those of others: browsers keep cookies apart by host and path, not by port (RFC 6265 8.5). */
export const issuerTag = (issuer: string): string => digest('issuer', issuer).toString('hex').slice(0, 8);

/** The name of a cookie that only the pages of this issuer read. */
export const internalCookie = (name: string, issuer: string): string => `GATEHOUSE_${name}_${issuerTag(issuer)}`;

/** Whether a cookie of the name was sent, once or more often. */
export function carries(request: FastifyRequest, name: string): boolean {
  return request.headers.cookie?.includes(`${name}=`) ?? false;
}

/** The cookie's value if it was sent exactly once. */
export function single(request: FastifyRequest, name: string): string | undefined {
  const values = all(request, name);
  return values.length === 1 ? values[0] : undefined;
}

/** The values of all cookies of the name. */
export function all(request: FastifyRequest, name: string): readonly string[] {
  const { cookie } = request.headers;
  if (cookie === undefined) return [];
  // several cookies are read from one request
  let read = (request as Read)[readAs];
  if (read?.of !== cookie) (request as Read)[readAs] = read = { of: cookie, values: valuesOf(cookie) };
  return read.values.get(name) ?? [];
}

const readAs = Symbol('read as');
type Read = FastifyRequest & { [readAs]?: { of: string; values: Map<string, string[]> } };

/** By name. */
function valuesOf(cookie: string): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const part of cookie.split(';')) {
    const pair = part.trim();
    const end = pair.indexOf('=');
    if (end < 0) continue;
    const name = pair.slice(0, end);
    values.set(name, [...(values.get(name) ?? []), pair.slice(end + 1)]);
  }
  return values;
}

/** Whether the browser loads the response into a frame; in a page of another site it does not send the service's cookies (SameSite=Lax). */
export function isFramed(request: FastifyRequest): boolean {
  return request.headers['sec-fetch-dest'] === 'iframe';
}
