// The one door to the outside: documents that clients point to, fetched so that nobody can aim the service at its own network.
import http from 'node:http';
import https from 'node:https';
import { RequestFilteringHttpsAgent } from 'request-filtering-agent';

/** The document could not be had; the message is for the log. */
export class FetchRefused extends Error {}

/** @param types media types of which the document must be one; any, where they are left out */
export type GuardedFetch = (url: string, types?: readonly string[]) => Promise<string>;

const timeout = 5_000; // milliseconds, for all of it
const maxBytes = 64 * 1024;

/**
 * Makes the fetcher: https only, public addresses only (checked on the address that is connected to), no redirects,
 * 5 s, 64 KiB. `allowed` (host:port) lifts the first two for hosts of a test bed.
 * The fetcher throws FetchRefused.
 */
export function createGuardedFetch(allowed: readonly string[]): GuardedFetch {
  const guarded = new RequestFilteringHttpsAgent({ keepAlive: false });
  return (address, types) =>
    new Promise((resolve, reject) => {
      const refuse = (reason: string, cause?: unknown) => reject(new FetchRefused(`${address}: ${reason}`, { cause }));
      let url: URL;
      try {
        url = new URL(address);
      } catch {
        refuse('not a URL');
        return;
      }
      const port = url.port || (url.protocol === 'https:' ? '443' : '80');
      const exempt = allowed.includes(`${url.hostname}:${port}`);
      if (url.protocol !== 'https:' && !(exempt && url.protocol === 'http:')) {
        refuse('only https addresses are fetched');
        return;
      }
      const options: https.RequestOptions = {
        signal: AbortSignal.timeout(timeout),
        headers: {
          accept: types?.join(', ') ?? 'application/json, application/jwk-set+json',
          'user-agent': 'gatehouse',
        },
      };
      if (!exempt) options.agent = guarded;
      const request = (url.protocol === 'https:' ? https : http).get(url, options, (response) => {
        if (response.statusCode !== 200) {
          response.destroy();
          refuse(`answered ${response.statusCode}; redirects are not followed`);
          return;
        }
        const type = response.headers['content-type']?.split(';')[0]!.trim().toLowerCase();
        if (types && !types.some((expected) => expected === type)) {
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
            refuse('longer than 64 KiB');
          } else chunks.push(chunk);
        });
        response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
        response.on('error', (error) => refuse('broke off', error));
      });
      request.on('error', (error) => refuse('cannot be reached', error));
    });
}
