// Measures how several processes of the service scale: one, two and four workers, each with the same small share of a processor.
//
//   node bench/workers.ts [--share 0.2] [--workers 1,2,4] [--rounds 5] [--seconds 2] [--write]
//
// Takes two minutes. A machine of two processors has none free for a second worker beside the load and PostgreSQL. So a control group of Linux limits each
// worker to a fifth of one (for which this must run as root), and the rest has more than it needs: then the rate shows how the workers scale, as on a
// machine with as many free processors that are five times slower. --write puts the table into docs/scaling.md.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { newOpaqueToken } from '../src/tokens/opaque-token.ts';
import { type Bed, withService } from './bed.ts';
import { type Child, command, startService } from './children.ts';
import { basicOf, type Tokens } from './flows.ts';
import { type Load, loadWith } from './load.ts';
import { between, processorTimes } from './meter.ts';
import { machine, median } from './report.ts';
import { post } from './sides/side.ts';

const { values } = parseArgs({
  options: {
    postgres: { type: 'string' },
    share: { type: 'string', default: '0.2' },
    workers: { type: 'string', default: '1,2,4' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    write: { type: 'boolean', default: false },
  },
});
const share = Number(values.share);
const counts = values.workers.split(',').map(Number);
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const connections = 32;
const page = join(import.meta.dirname, '../docs/scaling.md');
/** With two workers, the least multiple of the rate of one. */
const target = 1.7;
const groups = '/sys/fs/cgroup/cpu';
const say = (line: string) => process.stdout.write(`${line}\n`);

/** The result of one operation with one number of workers in a round. */
interface Round {
  rate: number;
  /** Microseconds of the workers' processors for one operation. */
  cost: number;
  /** Processors in use, of workers, load and PostgreSQL together. */
  busy: number;
}

if (!existsSync(groups) || process.getuid?.() !== 0) {
  say(`NOT RUN: it needs ${groups}, and to be root.`);
  process.exit(2);
}
await withService(
  { DATABASE_POOL_SIZE: '10', ACCESS_TOKEN_LIFETIME: '3600', LIMIT_INTROSPECTIONS: '1000000000' },
  main,
  {
    postgres: values.postgres,
    database: ['shared_buffers=512MB', 'max_wal_size=8GB', 'checkpoint_timeout=30min', 'max_connections=200'],
  },
);

async function main({ service, settings, databasePid, folder, stops }: Bed): Promise<void> {
  const client = await command(['client', 'create', '--name', 'Bench', '--grant-type', 'client_credentials'], settings);
  const issue = post('/token', basicOf(client), { grant_type: 'client_credentials' });
  const tokens: string[] = [];
  while (tokens.length < 1000) {
    const answer = await fetch(service.base + issue.path, { method: 'POST', headers: issue.headers, body: issue.body });
    tokens.push(((await answer.json()) as Tokens).access_token);
  }
  const introspect = (list: string[]) =>
    list.map((token) => post('/introspect', basicOf(client), { token, token_type_hint: 'access_token' }));
  const unknown = Array.from({ length: 1000 }, () => newOpaqueToken('access_token').token);
  const loadsOf = (base: string): Record<string, Load> => ({
    Discovery: loadWith(base, [{ method: 'GET', path: '/.well-known/openid-configuration' }]),
    'Introspection, malformed token': loadWith(base, introspect(['no token']), 400),
    'Introspection, live opaque token': loadWith(base, introspect(tokens)),
    'Introspection, inactive token': loadWith(base, introspect(unknown)),
    'Client credentials': loadWith(base, [issue]),
  });

  const sides = [];
  for (const count of counts) {
    // the address of the service that runs: another one may not use its database
    const child = await startService(folder, { ...settings, BASE_URL: service.base, WORKERS: String(count) });
    stops.push(() => child.stop());
    const workers = await workersOf(child, count);
    for (const pid of workers) stops.push(limited(pid));
    sides.push({ count, workers, loads: loadsOf(child.base) });
  }
  const found = new Map<string, Map<number, Round[]>>();
  for (const name of Object.keys(sides[0]!.loads)) {
    const own = new Map<number, Round[]>(counts.map((count) => [count, []]));
    found.set(name, own);
    for (const { loads } of sides) await loads[name]!(connections, 0.5);
    for (let round = 0; round < rounds; round++) {
      for (const { count, workers, loads } of round % 2 === 0 ? sides : sides.toReversed()) {
        const times = () => [
          workers.map((pid) => processorTimes(pid)),
          // of this process alone: its children are counted elsewhere
          [new Map([...processorTimes(process.pid)].filter(([pid]) => pid === process.pid))],
          [processorTimes(databasePid!)],
        ];
        const before = times();
        const begin = performance.now();
        const result = await loads[name]!(connections, seconds);
        const elapsed = (performance.now() - begin) / 1000;
        const used = times().map((list, part) =>
          list.reduce((sum, after, index) => sum + between(before[part]![index]!, after), 0),
        );
        own.get(count)!.push({
          rate: result.rate,
          cost: (used[0]! / result.count) * 1e6,
          busy: used.reduce((sum, each) => sum + each) / elapsed,
        });
      }
    }
    for (const line of linesOf(name, own)) say(line.join('  '));
  }
  if (values.write) write(asMarkdown(found));
}

/** The processes that answer: the started one, or its children. */
async function workersOf({ pid, base }: Child, count: number): Promise<number[]> {
  if (count === 1) return [pid];
  for (;;) {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
    const answering = (await fetch(`${base}/health/ready`)).ok;
    // a worker with a pool of connections has reported that it is ready
    if (children.length === count && answering) {
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      return children;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Limits a process to a share of a processor; the returned function removes the limit, once the process has ended. */
function limited(pid: number): () => Promise<void> {
  const group = join(groups, `gatehouse-bench-${pid}`);
  const period = 10_000; // microseconds
  mkdirSync(group);
  writeFileSync(join(group, 'cpu.cfs_period_us'), String(period));
  writeFileSync(join(group, 'cpu.cfs_quota_us'), String(Math.round(period * share)));
  writeFileSync(join(group, 'cgroup.procs'), String(pid));
  return async () => {
    // back to its previous group, so that it may end at its own speed
    writeFileSync(join(groups, 'cgroup.procs'), String(pid));
    rmdirSync(group);
  };
}

function linesOf(name: string, found: Map<number, Round[]>): string[][] {
  const one = found.get(counts[0]!)!;
  return [...found].map(([count, own], index) => {
    const times = own.map(({ rate }, round) => rate / one[round]!.rate);
    const ratio = median(times);
    return [
      index === 0 ? name : '',
      String(count),
      Math.round(median(own.map(({ rate }) => rate))).toLocaleString('en'),
      index === 0 ? '' : ratio.toFixed(2),
      index === 0 ? '' : `${Math.min(...times).toFixed(2)} to ${Math.max(...times).toFixed(2)}`,
      median(own.map(({ cost }) => cost)).toFixed(0),
      median(own.map(({ busy }) => busy)).toFixed(2),
      count === 2 ? `${target} ${ratio >= target ? 'met' : '**missed**'}` : '',
    ];
  });
}

function asMarkdown(found: Map<string, Map<number, Round[]>>): string {
  const header = [
    'Operation',
    'Workers',
    'a second',
    'ratio to one worker',
    'spread',
    'CPU µs',
    'processors in use',
    'target',
  ];
  const row = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [
    `${machine()}, Node ${process.versions.node}; each worker has ${share} of a processor, ${connections} connections, ${rounds} rounds of ${seconds} s in turn,`,
    "medians. “CPU” is the workers' processor time for one operation. “Processors in use” counts workers, load and PostgreSQL; below 2, none of them waited for the machine.",
    '',
    row(header),
    row(header.map((_, index) => (index === 0 ? '---' : '---:'))),
    ...[...found].flatMap(([name, own]) => linesOf(name, own).map(row)),
  ].join('\n');
}

function write(table: string): void {
  const place = /(<!-- bench\/workers.ts writes this -->\n\n).*?(<!-- until here -->)/s;
  const text = readFileSync(page, 'utf8');
  if (!place.test(text)) throw new Error(`${page} has no place for the table`);
  writeFileSync(
    page,
    text.replace(place, (_, begin: string, end: string) => `${begin}${table}\n\n${end}`),
  );
}
