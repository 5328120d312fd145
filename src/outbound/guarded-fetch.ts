// Sends requests to addresses that clients or settings name, and refuses addresses of the service's own network (security R47).
import dns from 'node:dns';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import https from 'node:https';
import { BlockList, isIPv6, type LookupFunction } from 'node:net';
import { http, newFilteringAgent } from './node-http.ts';
import { endWith, outgoingSpan } from './traced-request.ts';

interface RefusalOptions extends ErrorOptions {
  isGone?: boolean;
  isTooLong?: boolean;
}

/** The request was refused or got no usable answer. The message is for the log. */
export class FetchRefused extends Error {
  /** Whether the document or its host no longer exists: the answer is 404 or 410, or the name has no address. */
  readonly isGone: boolean;
  readonly isTooLong: boolean;
  constructor(message: string, { isGone = false, isTooLong = false, ...options }: RefusalOptions = {}) {
    super(message, options);
    this.isGone = isGone;
    this.isTooLong = isTooLong;
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
) => Promise<{ text: string; headers: IncomingHttpHeaders } | undefined>;
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
  headers: IncomingHttpHeaders;
}
/**
 * Sends a form or a body, or a GET without one, and reads the answer. Throws FetchRefused without an answer, and for one that is too long.
 * @param options.method POST with a form or a body, and GET without, unless given
 */
export type GuardedExchange = (
  url: string,
  options?: {
    method?: string;
    form?: Record<string, string>;
    body?: string;
    headers?: Record<string, string>;
    maxBytes?: number;
    timeout?: number;
    signal?: AbortSignal;
  },
) => Promise<ExchangeAnswer>;

/** The answer to a message: only the first bytes of its body are read. */
export interface SendAnswer {
  status: number;
  /** Milliseconds until the answer began. */
  time: number;
  start: string;
}
/** Posts a body and reads the beginning of the answer, whatever its status. Throws FetchRefused without an answer. */
export type GuardedSend = (
  url: string,
  message: {
    body: string | Uint8Array;
    headers: Record<string, string>;
    timeout: number;
    signal?: AbortSignal;
    ca?: string;
  },
) => Promise<SendAnswer>;

/** The bytes of an answer to a message that are read, and the milliseconds for them: the status has already said all. */
const maxStart = 256;
const startTimeout = 1_000;

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
  return (
    address,
    { method, form, body: given, headers: more = {}, maxBytes = defaultMaxBytes, timeout, signal } = {},
  ) =>
    new Promise((resolve, reject) => {
      const body = form ? new URLSearchParams(form).toString() : given;
      const headers = {
        accept: 'application/json',
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
        ...more,
      };
      const options = { method: method ?? (body === undefined ? 'GET' : 'POST'), headers, timeout, signal };
      const request = open(address, options, (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > maxBytes) {
            response.destroy();
            reject(refusal(address, `longer than ${maxBytes / 1024} KiB`, { isTooLong: true }));
          } else chunks.push(chunk);
        });
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            type: response.headers['content-type']?.split(';')[0]!.trim().toLowerCase(),
            body: Buffer.concat(chunks).toString('utf8'),
            headers: response.headers,
          }),
        );
        response.on('error', (error) => reject(refusal(address, 'broke off', error)));
      });
      request.on('error', (error) => reject(refusal(address, 'cannot be reached', error)));
      request.end(body);
    });
}

/** The same for messages to any receiver: it reads no more of an answer than its beginning, however long or slow it is. */
export function createGuardedSend(allowed: readonly string[]): GuardedSend {
  const open = createRequester(allowed);
  return (address, { body, headers: given, timeout, signal, ca }) =>
    new Promise((resolve, reject) => {
      const headers = { ...given, 'content-length': String(Buffer.byteLength(body)) };
      const begun = performance.now();
      const request = open(address, { method: 'POST', headers, timeout, signal, ca }, (response) => {
        const time = Math.round(performance.now() - begun);
        const chunks: Buffer[] = [];
        let size = 0;
        const enough = setTimeout(() => response.destroy(), startTimeout);
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          size += chunk.length;
          if (size >= maxStart) response.destroy();
        });
        // an answer that breaks off has said its status
        response.on('error', () => undefined);
        response.on('close', () => {
          clearTimeout(enough);
          const start = Buffer.concat(chunks).subarray(0, maxStart).toString('utf8');
          resolve({ status: response.statusCode!, time, start });
        });
      });
      request.on('error', (error) => reject(refusal(address, 'cannot be reached', { cause: error })));
      request.end(body);
    });
}

/** Makes the function that opens a request to an allowed address; it throws FetchRefused for any other (security R47). */
function createRequester(allowed: readonly string[]) {
  let guarded: https.Agent | undefined;
  return (
    address: string,
    {
      headers,
      timeout = defaultTimeout,
      signal,
      ca,
      ...more
    }: {
      method?: string;
      headers: Record<string, string>;
      timeout?: number | undefined;
      signal?: AbortSignal | undefined;
      ca?: string | undefined;
    },
    onResponse: (response: IncomingMessage) => void,
  ): ClientRequest => {
    if (!URL.canParse(address)) throw refusal(address, 'not a URL');
    const url = new URL(address);
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    const exempt = allowed.includes(`${url.hostname}:${port}`);
    if (url.protocol !== 'https:' && !(exempt && url.protocol === 'http:'))
      throw refusal(address, 'only https addresses are asked');
    const options: https.RequestOptions = {
      ...more,
      ...(ca !== undefined && { ca }),
      signal: signal ? AbortSignal.any([signal, AbortSignal.timeout(timeout)]) : AbortSignal.timeout(timeout),
      headers: { ...headers, 'user-agent': 'gatehouse' },
    };
    if (!exempt) {
      if (isIPv4Compatible(url.hostname.slice(1, -1)))
        throw refusal(address, 'cannot be reached', {
          cause: new Error('the address is not allowed: it is not public'),
        });
      options.agent = guarded ??= newFilteringAgent();
      options.lookup = lookup;
    }
    const span = outgoingSpan(more.method ?? 'GET', { hostname: url.hostname, port });
    // a foreign service could compare the traces of several users, so only hosts that the operator names learn them
    if (span && exempt) options.headers = { ...options.headers, traceparent: span.traceparent };
    const request = (url.protocol === 'https:' ? https : http).request(url, options, onResponse);
    return span ? endWith(request, span) : request;
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

function refusal(address: string, reason: string, options?: RefusalOptions): FetchRefused {
  return new FetchRefused(`${address}: ${reason}`, options);
}
