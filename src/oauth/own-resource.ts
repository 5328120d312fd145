// Decides which resource URIs name the service itself, and where a token for them may be used (RFC 8707 2, security R115).
import { resourceKey } from './resource-key.ts';

/** The resource of this service for which an exchange can issue tokens: no other address takes a token that names an actor. */
export const userinfoResource = (issuer: string): string => `${issuer}/user/info`;

/** Paths that a token for the issuer does not cover: administration has its own resource, and metrics have none. */
const excludedPaths = ['/admin', '/metrics'];
const adminApiPath = '/admin/api';

/** The audience of a token: a resource of this service, or the resource of another server with that server's client, null without one. */
export type Audience = readonly (string | null)[];

/** Whether a URI is the issuer or below it in any spelling. No client may register such a resource (security R115). */
export function isAtIssuer(issuer: string, uri: string): boolean {
  const [own, other] = [normalized(issuer), normalized(uri)];
  return own !== undefined && other !== undefined && own.origin === other.origin && isBelow(own.path, other.path);
}

/** Whether a URI names a resource of the service. It must be spelled like the issuer, so that every reader interprets it alike. */
export function isOwnResource(issuer: string, uri: string): boolean {
  const path = pathBelow(issuer, uri);
  return path !== undefined && (!isExcluded(path) || isBelow(adminApiPath, path));
}

/**
 * Whether a token may be used at an address of the service.
 * @param audience the token's audience: undefined without a resource
 * @param address the path and query of the request
 * @param route the route's pattern, which decides where the path has escapes
 */
export function servesAt(issuer: string, audience: Audience | undefined, address: string, route = address): boolean {
  if (audience === undefined) return true;
  const [resource, server] = audience;
  if (typeof resource !== 'string' || server !== undefined || !isOwnResource(issuer, resource)) return false;
  const { origin } = new URL(issuer);
  const path = pathBelow(issuer, origin + address.split('?')[0]!) ?? pathBelow(issuer, origin + route);
  if (path === undefined) return false;
  const base = pathBelow(issuer, resource)!;
  return isBelow(base, path) && (isExcluded(base) || !isExcluded(path));
}

/** Whether the audience of a token is a resource of another server. */
export function isForeign(audience: Audience | undefined): boolean {
  return audience !== undefined && audience.length !== 1;
}

/** Whether the audience of an authorization is the resource of a token request, if the request names one (RFC 8707 2.2). */
export function isFor(audience: Audience | undefined, resource: string | undefined): boolean {
  const [granted] = audience ?? [];
  return resource === undefined || (typeof granted === 'string' && resourceKey(granted) === resourceKey(resource));
}

/** Returns the path of a URI below the issuer, '' for the issuer itself; undefined if the URI is spelled in an unusual way. */
function pathBelow(issuer: string, uri: string): string | undefined {
  if (!uri.startsWith(issuer)) return undefined;
  const path = uri.slice(issuer.length).replace(/\/$/, '');
  const plain = /^(\/[\w~.:-]+)*$/.test(path) && !/\/\.{1,2}(\/|$)/.test(path);
  return plain ? path : undefined;
}

const isExcluded = (path: string): boolean => excludedPaths.some((base) => isBelow(base, path));

const isBelow = (base: string, path: string): boolean => path === base || path.startsWith(`${base}/`);

/** Returns origin and path in one spelling: without escapes and dot segments, and in lower case. */
function normalized(uri: string): { origin: string; path: string } | undefined {
  if (!URL.canParse(uri)) return undefined;
  const url = new URL(uri);
  if (!/^https?:$/.test(url.protocol)) return undefined;
  const origin = `${url.protocol}//${url.hostname.replace(/\.$/, '')}:${url.port}`;
  let path = url.pathname;
  // an escape can hide another escape, a dot or a slash; no server undoes more than eight levels
  for (let depth = 0; depth < 8; depth++) path = new URL(`http://host${unescaped(path)}`).pathname;
  return { origin, path: path.toLowerCase().replace(/\/+/g, '/').replace(/\/$/, '') };
}

/** Undoes each escape of a visible ASCII character, also an escaped one, except those of ? and #, which would end the path. */
function unescaped(path: string): string {
  return path.replace(/%(?:25)*([2-7][0-9a-f])/gi, (escape, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /[!-~]/.test(character) && !/[?#]/.test(character) ? character : escape;
  });
}
