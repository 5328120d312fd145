// The load: one request again and again by autocannon, or flows of several steps over connections that are kept alive.
import { Agent, request as send } from 'node:http';
import autocannon from 'autocannon';

export interface Request {
  method: 'GET' | 'POST' | 'PUT';
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface Answer {
  status: number;
  location: string | undefined;
  body: string;
}

/** What one round of one operation gave. */
export interface Round {
  /** Operations that succeeded, in a second. */
  rate: number;
  /** Milliseconds of one operation: the median and what one in a hundred exceeds. */
  p50: number;
  p99: number;
}

/** Sends the requests in turn over all connections. @throws Error when one is not answered with 2xx */
export async function loadWith(
  base: string,
  requests: Request[],
  connections: number,
  seconds: number,
): Promise<Round> {
  const result = await autocannon({ url: base, connections, duration: seconds, requests });
  if (result.errors > 0 || result.non2xx > 0)
    throw new Error(`${result.errors} errors and ${result.non2xx} refusals at ${requests[0]!.path}`);
  return { rate: result['2xx'] / result.duration, p50: result.latency.p50, p99: result.latency.p99 };
}

/** A connection of its own, kept alive, for the steps of a flow. */
export type Ask = (request: Request) => Promise<Answer>;

/** Runs a flow again and again, one at a time on each connection. @param flow throws when a step is not answered as it should */
export async function loadFlow(
  base: string,
  flow: (ask: Ask, connection: number) => Promise<void>,
  connections: number,
  seconds: number,
): Promise<Round> {
  const times: number[] = [];
  const begin = performance.now();
  const end = begin + seconds * 1000;
  await Promise.all(
    Array.from({ length: connections }, async (_, connection) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const ask: Ask = (request) => askOnce(agent, base, request);
      for (let now = performance.now(); now < end;) {
        await flow(ask, connection);
        const after = performance.now();
        times.push(after - now);
        now = after;
      }
      agent.destroy();
    }),
  );
  const elapsed = (performance.now() - begin) / 1000;
  times.sort((a, b) => a - b);
  const at = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))]!;
  return { rate: times.length / elapsed, p50: at(0.5), p99: at(0.99) };
}

export function askOnce(agent: Agent, base: string, { method, path, headers = {}, body }: Request): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const outgoing = send(base + path, { method, agent, headers: { ...headers, ...length } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () =>
        resolve({ status: response.statusCode!, location: response.headers.location, body: text }),
      );
      response.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
