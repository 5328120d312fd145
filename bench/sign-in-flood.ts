// What a flood of sign-ins does to everybody else: the time of /jwks, /introspect and /token at a fixed rate, with and without it, in turn in one run.
// node bench/sign-in-flood.ts [--rounds 3] [--seconds 8] [--postgres FOLDER]; ends with 1 when the flood makes the slowest hundredth more than three times slower.
import { randomUUID } from 'node:crypto';
import { Agent, request as send } from 'node:http';
import { availableParallelism, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { hiddenFields, responseParameters, UserAgent } from '../test/helpers/user-agent.ts';
import { withService } from './bed.ts';
import { command } from './children.ts';

const { values } = parseArgs({
  options: {
    postgres: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '8' },
    profile: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
/** People and programs that try to sign in at the same time, each again as soon as the service lets it. */
const intruders = 400;
/** Of each of the four operations, in a second. */
const rate = 20;
const chains = 40;
const mostTimes = 3;
/** Milliseconds (security R102). */
const mostP95 = 250;
const redirectUri = 'https://rp.example.com/callback';

interface Answer {
  status: number;
  retryAfter: number;
  body: string;
}
/** @param body undefined for GET */
type Post = (path: string, headers: Record<string, string>, body?: string) => Promise<Answer>;

const settings = {
  // the flood comes from one network here; it is the queue that is looked at, not the limits before it
  LIMIT_SIGN_IN_PER_NETWORK: '0',
  LIMIT_SIGN_IN_FAILURES: '0',
  // one session prepares all chains of refresh tokens
  LIMIT_CODES_PER_SESSION: '0',
};

async function measure(base: string, settings: Record<string, string>): Promise<void> {
  const operations = await prepare(base, settings);
  const worker = new Worker(new URL(import.meta.url), { workerData: { base } });
  const told = () => new Promise<Record<string, number>>((resolve) => worker.once('message', resolve));
  await told();
  await phase(operations, 2);
  const names = Object.keys(operations);
  const times = { calm: emptyTimes(names), flooded: emptyTimes(names) };
  let failures = 0;
  const seen: Record<string, number> = {};
  for (let round = 0; round < rounds; round++) {
    failures += await phase(operations, seconds, times.calm);
    worker.postMessage('begin');
    await delay(1000); // until the queue is full
    failures += await phase(operations, seconds, times.flooded);
    const counted = told();
    worker.postMessage('end');
    for (const [status, count] of Object.entries(await counted)) seen[status] = (seen[status] ?? 0) + count;
    await delay(500);
  }
  await worker.terminate();
  process.stdout.write(
    `${availableParallelism()} CPUs for the service, its database and the load; ${rounds} rounds of ${seconds} s of each, in turn; ${rate} a second of each operation\n` +
      `the flood: ${intruders} at once, answered with ${JSON.stringify(seen)}\n\n`,
  );
  let worst = 0;
  const row = (cells: (string | number)[]) =>
    process.stdout.write(
      `${cells.map((cell, at) => (at === 0 ? String(cell).padEnd(20) : String(cell).padStart(12))).join('')}\n`,
    );
  let slowest = 0;
  row(['', 'calm p50 ms', 'p95', 'p99', 'flood p50', 'p95', 'p99', 'p99 ratio']);
  for (const name of names) {
    const [calm, flooded] = [times.calm[name]!, times.flooded[name]!];
    const ratio = at(flooded, 0.99) / at(calm, 0.99);
    worst = Math.max(worst, ratio);
    slowest = Math.max(slowest, at(flooded, 0.95));
    row([
      name,
      ...[calm, flooded].flatMap((all) => [0.5, 0.95, 0.99].map((part) => at(all, part).toFixed(1))),
      ratio.toFixed(2),
    ]);
  }
  process.stdout.write(`\nfailures outside the flood: ${failures}\n`);
  process.stdout.write(`slowest p95 in the flood: ${slowest.toFixed(1)} ms, of ${mostP95} allowed (security R102)\n`);
  if (worst > mostTimes || slowest > mostP95 || failures > 0) process.exitCode = 1;
}

const emptyTimes = (names: string[]): Record<string, number[]> => Object.fromEntries(names.map((name) => [name, []]));

function at(times: number[], part: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
}

/** Sends each operation at its rate, whether the one before is answered or not; returns how many failed. */
async function phase(
  operations: Record<string, () => Promise<Answer>>,
  time: number,
  times?: Record<string, number[]>,
): Promise<number> {
  let failures = 0;
  const under: Promise<void>[] = [];
  const begin = performance.now();
  for (let count = 0; count < time * rate; count++) {
    for (const [index, [name, operation]] of Object.entries(operations).entries()) {
      const due = begin + ((count + index / 4) * 1000) / rate;
      await delay(Math.max(0, due - performance.now()));
      const sent = performance.now();
      under.push(
        operation().then(
          ({ status, body }) => {
            times?.[name]!.push(performance.now() - sent);
            if (status !== 200) failures += complain(`${name}: ${status} ${body.slice(0, 200)}`);
          },
          (error: unknown) => void (failures += complain(`${name}: ${String(error)}`)),
        ),
      );
    }
  }
  await Promise.all(under);
  return failures;
}

function complain(line: string): 1 {
  process.stderr.write(`${line}\n`);
  return 1;
}

async function prepare(base: string, settings: Record<string, string>): Promise<Record<string, () => Promise<Answer>>> {
  const machine = await command(
    ['client', 'create', '--name', 'Bench', '--grant-type', 'client_credentials', '--scope', 'admin'],
    settings,
  );
  const web = await command(
    ['client', 'create', '--name', 'Web', '--redirect-uri', redirectUri, '--first-party'],
    settings,
  );
  const post = postTo(base, 64);
  const basic = (client: Record<string, string>) =>
    `Basic ${Buffer.from(`${client['client_id']}:${client['client_secret']}`).toString('base64')}`;
  const asked = (path: string, client: Record<string, string>, parameters: Record<string, string>) => {
    const headers = { authorization: basic(client), 'content-type': 'application/x-www-form-urlencoded' };
    return post(path, headers, new URLSearchParams(parameters).toString());
  };
  const { access_token } = read(await asked('/token', machine, { grant_type: 'client_credentials' }));
  const user = { username: 'alice', password: randomUUID() };
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' };
  await post('/admin/api/users', headers, JSON.stringify(user));
  const agent = new UserAgent({ issuer: base });
  const client = { clientId: web['client_id']!, redirectUri };
  const refreshTokens: string[] = [];
  for (let index = 0; index < chains; index++) {
    const { code } = responseParameters(await agent.authorize(client, user));
    const redeemed = { grant_type: 'authorization_code', code: code!, redirect_uri: redirectUri };
    refreshTokens.push(read(await asked('/token', web, redeemed))['refresh_token']!);
  }
  return {
    '/jwks': () => post('/jwks', {}),
    '/introspect': () => asked('/introspect', machine, { token: access_token! }),
    '/token (client)': () => asked('/token', machine, { grant_type: 'client_credentials' }),
    '/token (refresh)': async () => {
      const refresh_token = refreshTokens.shift();
      if (refresh_token === undefined) throw new Error('every chain waits for its answer');
      const answer = await asked('/token', web, { grant_type: 'refresh_token', refresh_token });
      refreshTokens.push(read(answer)['refresh_token'] ?? refresh_token);
      return answer;
    },
  };
}

const read = ({ body }: Answer) => JSON.parse(body) as Record<string, string>;

function postTo(base: string, connections: number): Post {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  return (path, headers, body) =>
    new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const method = body === undefined ? 'GET' : 'POST';
      const outgoing = send(base + path, { method, agent, headers: { ...headers, ...length } }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            retryAfter: Number(response.headers['retry-after'] ?? 0),
            body: text,
          }),
        );
        response.on('error', reject);
      });
      outgoing.on('error', reject);
      outgoing.end(body);
    });
}

/** In a thread of its own: guesses passwords of ever new names between "begin" and "end", and tells how it was answered. */
async function flood({ base }: { base: string }): Promise<void> {
  const post = postTo(base, intruders);
  const browser = new UserAgent({ issuer: base });
  const form = hiddenFields((await browser.get('/login')).body);
  const headers = {
    cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    'content-type': 'application/x-www-form-urlencoded',
    origin: base,
  };
  // those who flood have machines of their own: what they cost here is not what the service costs
  if (process.platform === 'linux') setPriority(0, 19);
  let going = false;
  let counts: Record<string, number> = {};
  const guess = async (intruder: number) => {
    for (let times = 0; going; times++) {
      const body = new URLSearchParams({
        ...form,
        username: `nobody-${intruder}-${times}`,
        password: 'a wrong password',
      });
      const { status, retryAfter } = await post('/login', headers, body.toString());
      counts[status] = (counts[status] ?? 0) + 1;
      // nobody comes back on the second
      if (going) await delay((retryAfter + Math.random()) * 1000);
    }
  };
  let all: Promise<void>[] = [];
  parentPort!.on('message', (message: 'begin' | 'end') => {
    going = message === 'begin';
    if (going) all = Array.from({ length: intruders }, (_, intruder) => guess(intruder));
    else
      void Promise.all(all).then(() => {
        parentPort!.postMessage(counts);
        counts = {};
      });
  });
  parentPort!.postMessage({});
}

if (isMainThread)
  await withService(settings, (bed) => measure(bed.service.base, bed.settings), {
    postgres: values.postgres,
    profile: values.profile,
  });
else await flood(workerData as { base: string });
