// Measures what a flood of registrations does to approved clients: the time of /jwks, /introspect and /token at a fixed rate, before it, during it, and with the pending rows afterwards (security F15).
// node bench/registration-flood.ts [--limited] [--rounds 3] [--seconds 8] [--postgres FOLDER]; ends with 1 when the limit does not hold, or the pending rows slow others by more than a fifth.
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { type Bed, withService } from './bed.ts';
import { at, emptyTimes, everydaySettings, phase, postTo, prepare, rate } from './everyday.ts';

const { values } = parseArgs({
  options: {
    postgres: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '8' },
    limited: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
/** The number of registrations that may be pending: the default. */
const cap = 10_000;
/** The concurrent requests of the flood. */
const intruders = 16;
/** The number of registrations beyond the limit. */
const beyond = 500;
/** The rate of registrations, per second. */
const floodRate = 250;
const maxChange = 1.2;
const phases = ['before', 'flood', 'waiting'] as const;

// the flood comes from one network here: --limited keeps its limit in force; otherwise this measures the limit of pending registrations
const settings: Record<string, string> = {
  ...everydaySettings,
  LIMIT_REGISTRATIONS_WAITING: String(cap),
  ...(!values.limited && { LIMIT_REGISTRATION_PER_NETWORK: '0' }),
};

async function measure(bed: Bed): Promise<void> {
  const client = new pg.Client(bed.connection);
  await client.connect();
  try {
    await compare(bed, client);
  } finally {
    await client.end();
  }
}

async function compare({ service, settings }: Bed, client: pg.Client): Promise<void> {
  const operations = await prepare(service.base, settings);
  const register = postTo(service.base, intruders);
  const names = Object.keys(operations);
  const times = phases.map(() => emptyTimes(names));
  const seen: Record<string, number> = {};
  let failures = await phase(operations, 2);
  let most = 0;
  for (let round = 0; round < rounds; round++) {
    failures += await phase(operations, seconds, times[0]);
    const flood = sendFlood(register, seen);
    failures += await phase(operations, (cap + beyond) / floodRate, times[1]);
    await flood;
    const { rows } = await client.query<{ waiting: number }>(
      `SELECT count(*)::int AS waiting FROM clients WHERE status = 'disabled'`,
    );
    most = Math.max(most, rows[0]!.waiting);
    failures += await phase(operations, seconds, times[2]);
    await client.query("DELETE FROM clients WHERE status = 'disabled'");
  }
  process.stdout.write(
    `${availableParallelism()} CPUs for the service, its database and the load; ${rounds} rounds; ${rate} a second of each operation\n` +
      `the flood: ${floodRate} registrations a second, answered with ${JSON.stringify(seen)}; ${most} wait at most, of ${cap} allowed\n\n`,
  );
  const row = (cells: string[]) =>
    process.stdout.write(
      `${cells.map((cell, index) => (index === 0 ? cell.padEnd(20) : cell.padStart(16))).join('')}\n`,
    );
  row(['p50 / p95 ms', ...phases, 'p95 ratio']);
  let worst = 0;
  for (const name of names) {
    const [before, , after] = times.map((all) => at(all[name]!, 0.95));
    worst = Math.max(worst, after! / before!);
    const cells = times.map((all) => `${at(all[name]!, 0.5).toFixed(1)} / ${at(all[name]!, 0.95).toFixed(1)}`);
    row([name, ...cells, (after! / before!).toFixed(2)]);
  }
  process.stdout.write(`\nfailures outside the flood: ${failures}\n`);
  if (worst > maxChange || most > cap || !seen[values.limited ? '429' : '503'] || failures > 0) process.exitCode = 1;
}

/** Sends as many as may be pending and some more, at their rate, whether the previous one is answered or not. */
async function sendFlood(register: ReturnType<typeof postTo>, seen: Record<string, number>): Promise<void> {
  const under: Promise<void>[] = [];
  const begin = performance.now();
  for (let count = 0; count < cap + beyond; count++) {
    await delay(Math.max(0, begin + (count * 1000) / floodRate - performance.now()));
    const body = JSON.stringify({
      client_name: `Flood ${count}`,
      redirect_uris: ['https://flood.example.com/callback'],
    });
    const answer = register('/register', { 'content-type': 'application/json' }, body);
    under.push(answer.then(({ status }) => void (seen[status] = (seen[status] ?? 0) + 1)));
  }
  await Promise.all(under);
}

await withService(settings, measure, { postgres: values.postgres });
