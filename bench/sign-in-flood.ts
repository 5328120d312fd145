// Measures what a flood of sign-ins does to all other requests: the time of /jwks, /introspect and /token at a fixed rate, with and without it, in turn in one run.
// node bench/sign-in-flood.ts [--rounds 3] [--seconds 8] [--postgres FOLDER]; ends with 1 when the flood makes the slowest hundredth more than three times slower.
import { availableParallelism, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { hiddenFields, UserAgent } from '../test/helpers/user-agent.ts';
import { withService } from './bed.ts';
import { at, emptyTimes, everydaySettings, phase, postTo, prepare, rate } from './everyday.ts';

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
/** Concurrent users and programs that try to sign in, each again as soon as the service allows it. */
const intruders = 400;
const maxTimes = 3;
/** Milliseconds (security R102). */
const maxP95 = 250;

const settings = {
  ...everydaySettings,
  // the flood comes from one network here; this measures the queue, not the limits before it
  LIMIT_SIGN_IN_PER_NETWORK: '0',
  LIMIT_SIGN_IN_FAILURES: '0',
};

async function measure(base: string, settings: Record<string, string>): Promise<void> {
  const operations = await prepare(base, settings);
  const worker = new Worker(new URL(import.meta.url), { workerData: { base } });
  const nextMessage = () => new Promise<Record<string, number>>((resolve) => worker.once('message', resolve));
  await nextMessage();
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
    const counted = nextMessage();
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
  process.stdout.write(`slowest p95 in the flood: ${slowest.toFixed(1)} ms, of ${maxP95} allowed (security R102)\n`);
  if (worst > maxTimes || slowest > maxP95 || failures > 0) process.exitCode = 1;
}

/** In a thread of its own: guesses passwords of ever new names between "begin" and "end", and counts the answers. */
async function flood({ base }: { base: string }): Promise<void> {
  const post = postTo(base, intruders);
  const browser = new UserAgent({ issuer: base });
  const form = hiddenFields((await browser.get('/login')).body);
  const headers = {
    cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    'content-type': 'application/x-www-form-urlencoded',
    origin: base,
  };
  // attackers have machines of their own: their cost here is not a cost of the service
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
      // a client does not come back exactly on the second
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
