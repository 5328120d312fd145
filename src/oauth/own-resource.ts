// The service's own resources: the issuer, its UserInfo and its admin routes, each at and below itself (RFC 8707 2, security R115).

/** What the issuer as a resource does not include: administration has a resource of its own, and the metrics have none. */
const apart = ['/admin', '/metrics'];
const administration = '/admin/api';

/** Whether a URI is the issuer or below it, however it is written. No client can be the server of such a resource (security R115). */
export function isAtIssuer(issuer: string, uri: string): boolean {
  const [own, other] = [readable(issuer), readable(uri)];
  return own !== undefined && other !== undefined && own.origin === other.origin && isBelow(own.path, other.path);
}

/** Whether a URI names one of the service's own resources. It has to be spelled as the issuer is, so that all readers agree about it. */
export function isOwnResource(issuer: string, uri: string): boolean {
  const path = pathBelow(issuer, uri);
  return path !== undefined && (!isApart(path) || isBelow(administration, path));
}

/**
 * Whether a token serves at an address of the service.
 * @param audience whom it was issued for: undefined without a resource; a foreign resource has its server beside it
 * @param address path and query as they were requested
 * @param route the pattern that the router found for it, which decides where the path has escapes
 */
export function servesAt(
  issuer: string,
  audience: readonly string[] | undefined,
  address: string,
  route = address,
): boolean {
  if (audience === undefined) return true;
  const [resource, server] = audience;
  if (resource === undefined || server !== undefined || !isOwnResource(issuer, resource)) return false;
  const { origin } = new URL(issuer);
  const path = pathBelow(issuer, origin + address.split('?')[0]!) ?? pathBelow(issuer, origin + route);
  if (path === undefined) return false;
  const place = pathBelow(issuer, resource)!;
  return isBelow(place, path) && (isApart(place) || !isApart(path));
}

/** Whether the audience of a token is a resource of another server. */
export function isForeign(audience: readonly string[] | undefined): boolean {
  return audience !== undefined && audience.length !== 1;
}

/** The path of a plainly spelled URI below the issuer: '' for the issuer itself. */
function pathBelow(issuer: string, uri: string): string | undefined {
  if (!uri.startsWith(issuer)) return undefined;
  const path = uri.slice(issuer.length).replace(/\/$/, '');
  const plain = /^(\/[\w~.:-]+)*$/.test(path) && !/\/\.{1,2}(\/|$)/.test(path);
  return plain ? path : undefined;
}

const isApart = (path: string): boolean => apart.some((place) => isBelow(place, path));

const isBelow = (place: string, path: string): boolean => path === place || path.startsWith(`${place}/`);

/** Scheme, host and port, and the path with its escapes and dots resolved; capital letters are no difference. */
function readable(uri: string): { origin: string; path: string } | undefined {
  if (!URL.canParse(uri)) return undefined;
  const url = new URL(uri);
  if (!/^https?:$/.test(url.protocol)) return undefined;
  const origin = `${url.protocol}//${url.hostname.replace(/\.$/, '')}:${url.port}`;
  let path = url.pathname;
  // an escape may hide another one, or a dot or a slash; what is hidden deeper is found by no reader, and serves nowhere
  for (let depth = 0; depth < 8; depth++) path = new URL(`http://host${unescaped(path)}`).pathname;
  return { origin, path: path.toLowerCase().replace(/\/+/g, '/').replace(/\/$/, '') };
}

/** With each escape of a visible ASCII character undone, an escape of it included, but for those that would end the path. */
function unescaped(path: string): string {
  return path.replace(/%(?:25)*([2-7][0-9a-f])/gi, (escape, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /[!-~]/.test(character) && !/[?#]/.test(character) ? character : escape;
  });
}
