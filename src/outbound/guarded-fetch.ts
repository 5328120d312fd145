// Sends requests to addresses that clients or settings name, and refuses addresses of the service's own network (security R47).
import dns from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { BlockList, isIPv6, type LookupFunction } from 'node:net';
import { RequestFilteringHttpsAgent } from 'request-filtering-agent';

/** The request was refused or got no usable answer. The message is for the log. */
export class FetchRefused extends Error {
  /** Whether the document or its host no longer exists: the answer is 404 or 410, or the name has no address. */
  readonly isGone: boolean;
  constructor(message: string, { isGone = false, ...options }: ErrorOptions & { isGone?: boolean } = {}) {
    super(message, options);
    this.isGone = isGone;
  }
}

/**
 * Gets a document. Throws FetchRefused unless the answer is 200.
 * @param types the accepted media types of the document; without them, any
 */
export type GuardedFetch = (url: string, types?: readonly string[], options?: FetchOptions) => Promise<string>;
/** The same, with the answer's headers; undefined if the answer to a conditional request is 304. */
export type GuardedRead = (
  url: string,
  types?: readonly string[],
  options?: FetchOptions,
) => Promise<{ text: string; headers: http.IncomingHttpHeaders } | undefined>;
export interface FetchOptions {
  headers?: Record<string, string>;
  /** The maximum size; 64 KiB unless given. */
  maxBytes?: number;
  /** The maximum time of the whole request, in milliseconds; 5 s unless given. */
  timeout?: number;
  /** The entity tag of the known document (RFC 9110 13.1.2). */
  etag?: string | undefined;
}
/** Sends a form and returns the status of the answer, whose body is not read. Throws FetchRefused. */
export type GuardedPost = (url: string, form: Record<string, string>) => Promise<number>;

/** An answer of another service, whatever its status. */
export interface ExchangeAnswer {
  status: number;
  /** The media type, without parameters. */
  type: string | undefined;
  body: string;
}
/** Sends a form, or a GET without one, and reads the answer. Throws FetchRefused without an answer, and for one that is too long. */
export type GuardedExchange = (
  url: string,
  options?: { form?: Record<string, string>; headers?: Record<string, string>; maxBytes?: number },
) => Promise<ExchangeAnswer>;

const defaultTimeout = 5_000; // milliseconds, for the whole request
const defaultMaxBytes = 64 * 1024;

/**
 * Makes the fetcher: https only, public addresses only (checked at the address of the connection), no redirects,
 * 5 s, 64 KiB. `allowed` (host:port) lifts the first two rules for hosts of a test bed.
 */
export function createGuardedFetch(allowed: readonly string[]): GuardedFetch {
  const read = createGuardedRead(allowed);
  // an answer without a document is refused, unless the request is conditional
  return async (...request) => (await read(...request))!.text;
}

/** The same, with the answer's headers. A media type such as application/*+json accepts each with the suffix (RFC 6839). */
export function createGuardedRead(allowed: readonly string[]): GuardedRead {
  const open = createRequester(allowed);
  return (address, types, { headers: more = {}, maxBytes = defaultMaxBytes, timeout, etag } = {}) =>
    new Promise((resolve, reject) => {
      const refuse = (reason: string, options?: ErrorOptions & { isGone?: boolean }) =>
        reject(refusal(address, reason, options));
      const headers = {
        accept: types?.join(', ') ?? 'application/json, application/jwk-set+json',
        ...(etag !== undefined && { 'if-none-match': etag }),
        ...more,
      };
      const request = open(address, { headers, timeout }, (response) => {
        const { statusCode } = response;
        if (statusCode === 304 && etag !== undefined) {
          response.destroy();
          resolve(undefined);
          return;
        }
        if (statusCode !== 200) {
          response.destroy();
          refuse(`answered ${statusCode}; redirects are not followed`, {
            isGone: statusCode === 404 || statusCode === 410,
          });
          return;
        }
        const type = response.headers['content-type']?.split(';')[0]!.trim().toLowerCase() ?? '';
        if (types && !types.some((expected) => expected === type || hasSuffix(type, expected))) {
          response.destroy();
          refuse('the document has another media type');
          return;
        }
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > maxBytes) {
            response.destroy();
            refuse(`longer than ${maxBytes / 1024} KiB`);
          } else chunks.push(chunk);
        });
        response.on('end', () => resolve({ text: Buffer.concat(chunks).toString('utf8'), headers: response.headers }));
        response.on('error', (error) => refuse('broke off', { cause: error }));
      });
      request.on('error', (error: NodeJS.ErrnoException) =>
        refuse('cannot be reached', { cause: error, isGone: error.code === 'ENOTFOUND' }),
      );
      request.end();
    });
}

const hasSuffix = (type: string, expected: string): boolean =>
  expected.startsWith('application/*') && type.startsWith('application/') && type.endsWith(expected.slice(13));

/** The same for forms: returns the status of any answer, and does not read its body. */
export function createGuardedPost(allowed: readonly string[]): GuardedPost {
  const open = createRequester(allowed);
  return (address, form) =>
    new Promise((resolve, reject) => {
      const body = new URLSearchParams(form).toString();
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': String(Buffer.byteLength(body)),
      };
      const request = open(address, { method: 'POST', headers }, (response) => {
        resolve(response.statusCode!);
        response.destroy();
      });
      request.on('error', (error) => reject(refusal(address, 'cannot be reached', { cause: error })));
      request.end(body);
    });
}

/** The same for a conversation with another service: it reads the body of any answer, and follows no redirect. */
export function createGuardedExchange(allowed: readonly string[]): GuardedExchange {
  const open = createRequester(allowed);
  return (address, { form, headers: more = {}, maxBytes = defaultMaxBytes } = {}) =>
    new Promise((resolve, reject) => {
      const body = form && new URLSearchParams(form).toString();
      const headers = {
        accept: 'application/json',
        ...(body !== undefined && {
          'content-type': 'application/x-www-form-urlencoded',
          'content-length': String(Buffer.byteLength(body)),
        }),
        ...more,
      };
      const request = open(address, { method: body === undefined ? 'GET' : 'POST', headers }, (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > maxBytes) {
            response.destroy();
            reject(refusal(address, `longer than ${maxBytes / 1024} KiB`));
          } else chunks.push(chunk);
        });
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            type: response.headers['content-type']?.split(';')[0]!.trim().toLowerCase(),
            body: Buffer.concat(chunks).toString('utf8'),
          }),
        );
        response.on('error', (error) => reject(refusal(address, 'broke off', error)));
      });
      request.on('error', (error) => reject(refusal(address, 'cannot be reached', error)));
      request.end(body);
    });
}

/** Makes the function that opens a request to an allowed address; it throws FetchRefused for any other (security R47). */
function createRequester(allowed: readonly string[]) {
  const guarded = new RequestFilteringHttpsAgent({ keepAlive: false });
  return (
    address: string,
    {
      headers,
      timeout = defaultTimeout,
      ...more
    }: { method?: string; headers: Record<string, string>; timeout?: number | undefined },
    onResponse: (response: http.IncomingMessage) => void,
  ): http.ClientRequest => {
    if (!URL.canParse(address)) throw refusal(address, 'not a URL');
    const url = new URL(address);
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    const exempt = allowed.includes(`${url.hostname}:${port}`);
    if (url.protocol !== 'https:' && !(exempt && url.protocol === 'http:'))
      throw refusal(address, 'only https addresses are asked');
    const options: https.RequestOptions = {
      ...more,
      signal: AbortSignal.timeout(timeout),
      headers: { ...headers, 'user-agent': 'gatehouse' },
    };
    if (!exempt) {
      if (isIPv4Compatible(url.hostname.slice(1, -1)))
        throw refusal(address, 'cannot be reached', {
          cause: new Error('the address is not allowed: it is not public'),
        });
      options.agent = guarded;
      options.lookup = lookup;
    }
    return (url.protocol === 'https:' ? https : http).request(url, options, onResponse);
  };
}

/** The agent takes IPv4-compatible IPv6 addresses for public ones (RFC 4291 2.5.5.1), and its own list prints a line for each IPv4 address (security R166). */
const compatible = new BlockList();
compatible.addSubnet('::', 96, 'ipv6');
const isIPv4Compatible = (address: string): boolean => isIPv6(address) && compatible.check(address, 'ipv6');

/** The agent checks what this finds. */
const lookup: LookupFunction = (hostname, options, callback) =>
  dns.lookup(hostname, options, (error, found, family) => {
    const addresses = Array.isArray(found) ? found.map(({ address }) => address) : [found];
    if (!error && addresses.some(isIPv4Compatible))
      callback(new Error('the address is IPv4-compatible, and so not public'), found, family);
    else callback(error, found, family);
  });

function refusal(address: string, reason: string, options?: ErrorOptions & { isGone?: boolean }): FetchRefused {
  return new FetchRefused(`${address}: ${reason}`, options);
}
