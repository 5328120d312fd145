// Reads the request that a proxy asks about from the headers of this proxy's kind. What is not understood is refused (federation FR43).

/** The proxies whose requests are read, each with headers of its own. */
export const proxyKinds = ['nginx', 'traefik', 'caddy', 'envoy'] as const;
export type ProxyKind = (typeof proxyKinds)[number];

export interface OriginalRequest {
  /** Without a port. */
  host: string;
  method: string;
  path: string;
  /** With its question mark; empty without one. */
  query: string;
}

/** What a proxy sent. */
export interface ProxyRequest {
  method: string;
  /** For Envoy, the target after the path of the endpoint. */
  target: string;
  /** Names and values in turn, as they were sent. */
  rawHeaders: readonly string[];
}

const ofNginx = ['x-original-url', 'x-original-method'] as const;
const forwarded = ['x-forwarded-method', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-uri'] as const;
type ReadHeader = (typeof ofNginx)[number] | (typeof forwarded)[number] | 'host';
const readHeaders: ReadonlySet<string> = new Set<string>([...ofNginx, ...forwarded, 'host']);
type Headers = Partial<Record<ReadHeader, string>>;

const hostForm = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/;
const methodForm = /^[A-Z][A-Z-]{0,19}$/;
const addressForm = /^https:\/\/([^/?#]+)(.*)$/s;
// RFC 3986 3.3, with the further characters that browsers send as they are
const pathForm = /^\/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/[\]|^]|%[0-9A-Fa-f]{2})*$/;
const queryForm = /^(?:\?[!"$-~]*)?$/;
// slashes, control characters and NUL, which programs behind a proxy read in different ways
const unclear = /\/\/|%(?:2f|5c|[01][0-9a-f]|7f)/i;

/** Reads the request; undefined if it is not understood. */
export function readOriginal(kind: ProxyKind, sent: ProxyRequest): OriginalRequest | undefined {
  const headers = singleHeaders(sent.rawHeaders);
  return headers && readers[kind](headers, sent);
}

type Reader = (headers: Headers, sent: ProxyRequest) => OriginalRequest | undefined;

const readForwarded: Reader = (headers) => {
  if (hasAny(headers, ofNginx) || headers['x-forwarded-proto'] !== 'https') return undefined;
  return checked(headers['x-forwarded-method'], headers['x-forwarded-host'], headers['x-forwarded-uri']);
};

const readers: Record<ProxyKind, Reader> = {
  nginx(headers) {
    if (hasAny(headers, forwarded)) return undefined;
    const [, host, target] = addressForm.exec(headers['x-original-url'] ?? '') ?? [];
    return checked(headers['x-original-method'], host, target);
  },
  traefik: readForwarded,
  caddy: readForwarded,
  // the request itself, at a path below that of the endpoint
  envoy(headers, { method, target }) {
    if (hasAny(headers, ofNginx) || hasAny(headers, forwarded)) return undefined;
    return checked(method, headers.host, target);
  },
};

/** The headers that are read; undefined if one is repeated. */
function singleHeaders(rawHeaders: readonly string[]): Headers | undefined {
  const found: Record<string, string> = {};
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    if (!readHeaders.has(name)) continue;
    if (found[name] !== undefined) return undefined;
    found[name] = rawHeaders[index + 1]!;
  }
  return found;
}

const hasAny = (headers: Headers, names: readonly ReadHeader[]): boolean =>
  names.some((name) => headers[name] !== undefined);

function checked(
  method: string | undefined,
  host: string | undefined,
  target: string | undefined,
): OriginalRequest | undefined {
  if (method === undefined || host === undefined || target === undefined) return undefined;
  const question = target.indexOf('?');
  const path = question < 0 ? target : target.slice(0, question);
  const query = question < 0 ? '' : target.slice(question);
  const isUnderstood = methodForm.test(method) && hostForm.test(host) && isClearPath(path) && queryForm.test(query);
  return isUnderstood ? { host, method, path, query } : undefined;
}

/** Whether all programs read the path in the same way: without dot segments, empty segments and encoded slashes. */
function isClearPath(path: string): boolean {
  if (!pathForm.test(path) || unclear.test(path)) return false;
  try {
    // parameters of a segment follow its name after a semicolon, and some programs drop blanks and dots at its end
    return !decodeURIComponent(path)
      .split('/')
      .some((segment) => /^ *\.[. ]*(?:;|$)/.test(segment));
  } catch {
    return false;
  }
}

/** Whether a clear path is below one of the open paths, each of which ends with a slash. Parameters and doubly encoded characters open nothing. */
export const isOpenPath = (openPaths: readonly string[], path: string): boolean =>
  !/;|%25/.test(path) && openPaths.some((open) => path.startsWith(open));

const maxOpenPath = 200;
/** The form of an open path: it begins and ends with a slash, and has no character that could be read in two ways. */
export const isOpenPathForm = (path: string): boolean =>
  path.length <= maxOpenPath && /^(?:\/[A-Za-z0-9\-._~]+)+\/$/.test(path) && isClearPath(path);

/** The form of a host of a protected site: lower-case, without a port. */
export const isSiteHost = (host: string): boolean =>
  host.length <= 253 &&
  hostForm.test(host) &&
  !/^[\d.]+$/.test(host) &&
  host.split('.').every((label) => label.length <= 63);

/**
 * Whether a browser opens the address in a window, so that it can follow a redirect to the sign-in page. Others get 401 (federation 13).
 * @param accept the header of browsers that do not say for what they fetch
 */
export function isNavigation(
  { method }: Pick<OriginalRequest, 'method'>,
  {
    mode,
    destination,
    accept,
  }: { mode: string | undefined; destination: string | undefined; accept: string | undefined },
): boolean {
  if (method !== 'GET') return false;
  if (mode === undefined && destination === undefined) return accept?.includes('text/html') ?? false;
  return mode === 'navigate' && destination === 'document';
}
