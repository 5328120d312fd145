// Creates load: repeats one request, or flows of several steps, over connections that are kept alive.
import { type Agent, request as send } from 'node:http';
import { type Answer, askOver, type Request, serialized, Wire } from './wire.ts';

/** The result of one round of one operation. */
export interface Round {
  /** How many operations succeeded. */
  count: number;
  /** Operations that succeeded, per second. */
  rate: number;
  /** Milliseconds of one operation: the median and the 99th percentile. */
  p50: number;
  p99: number;
}

/** Runs an operation under load. @param begins called when its clock starts, after the connections are open */
export type Load = (connections: number, seconds: number, begins?: () => Promise<void>) => Promise<Round>;

/**
 * Sends the requests over all connections, each connection its own requests in turn.
 * @throws Error when an answer has another status
 */
export function loadWith(base: string, requests: Request[], status = 200): Load {
  const ready = requests.map((request) => serialized(base, request));
  /** Sends requests until the end, at least once. @param step from a request to the next of the same connection */
  const ask = (step: number, wire: Wire, connection: number, end: number, times: number[]) =>
    new Promise<void>((resolve, reject) => {
      let turn = connection;
      let begin = performance.now();
      const next = () => wire.send(ready[turn % ready.length]!, answered, reject);
      const answered = (answer: { status: number; body: Buffer }) => {
        const now = performance.now();
        if (answer.status !== status) {
          reject(new Error(`${requests[0]!.path}: ${answer.status} ${answer.body.toString().slice(0, 300)}`));
          return;
        }
        times.push(now - begin);
        if (now >= end) {
          resolve();
          return;
        }
        begin = now;
        turn += step;
        next();
      };
      next();
    });
  return (connections, seconds, begins) =>
    onWires(base, connections, seconds, begins, ask.bind(undefined, connections), (wire, connection) =>
      ask(connections, wire, connection, 0, []),
    );
}

/** Sends requests on a connection of its own. */
export type Ask = (request: Request) => Promise<Answer>;

/** Repeats a flow, one at a time on each connection. @param flow throws when a step gets an unexpected answer */
export function loadFlow(base: string, flow: (ask: Ask, connection: number) => Promise<void>): Load {
  return (connections, seconds, begins) =>
    onWires(base, connections, seconds, begins, async (wire, connection, end, times) => {
      const ask: Ask = (request) => askOver(wire, base, request);
      for (let now = performance.now(); now < end;) {
        await flow(ask, connection);
        const after = performance.now();
        times.push(after - now);
        now = after;
      }
    });
}

async function onWires(
  base: string,
  connections: number,
  seconds: number,
  begins: (() => Promise<void>) | undefined,
  work: (wire: Wire, connection: number, end: number, times: number[]) => Promise<void>,
  prepare?: (wire: Wire, connection: number) => Promise<void>,
): Promise<Round> {
  const wires = await Promise.all(Array.from({ length: connections }, () => Wire.open(base)));
  try {
    // opening the connections is no part of an operation, and would be most of the slowest hundredth of a short round
    if (prepare) await Promise.all(wires.map(prepare));
    await begins?.();
    const times: number[] = [];
    const begin = performance.now();
    const end = begin + seconds * 1000;
    await Promise.all(wires.map((wire, connection) => work(wire, connection, end, times)));
    const elapsed = (performance.now() - begin) / 1000;
    times.sort((a, b) => a - b);
    const at = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))]!;
    return { count: times.length, rate: times.length / elapsed, p50: at(0.5), p99: at(0.99) };
  } finally {
    for (const wire of wires) wire.close();
  }
}

/** Uses Node's own client: for load that does not measure speed. */
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
