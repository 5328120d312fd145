// Benchmarks the service, a bare reference and a peer on one PostgreSQL, in turn; writes their ratios to docs/benchmark.md.
//
//   npm run bench                                  everything: seventeen minutes, or more on a machine shared with others
//   npm run bench -- --only introspect --rounds 3  some operations, by parts of their keys with commas between; writes nothing
//   npm run bench -- --profile FOLDER              instead of rates: where the service's time goes, operation by operation
//   npm run bench -- --statements                  instead of rates: where PostgreSQL's time goes, statement by statement
//
// Further options: --seconds of each round, --connections 1,32,256, --sides service,bare,peer, --postgres FOLDER of an installed server's
// programs, --output FILE. With two processors the measured server has one, and everything else the other.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { type Bed, benchSettings, databaseSettings, withService } from './bed.ts';
import { certificateSettings } from './certificates.ts';
import { type Child, startPeer, startReference, startService } from './children.ts';
import type { Load } from './load.ts';
import {
  between,
  costsOf,
  countStatements,
  pin,
  placement,
  processorTimes,
  residentMemory,
  statementsOf,
  stolenTime,
  walBytes,
} from './meter.ts';
import { type Operation, operations, type SideName } from './operations.ts';
import { profiled } from './profile.ts';
import { guardSection } from './guard.ts';
import { asMarkdown, type Circumstances, type Costs, machine, type Measured, textReport } from './report.ts';
import { bareSide } from './sides/bare.ts';
import { peerSide } from './sides/peer.ts';
import { serviceSide } from './sides/service.ts';
import type { Side } from './sides/side.ts';

const { values } = parseArgs({
  options: {
    postgres: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1' },
    connections: { type: 'string', default: '1,32,256' },
    sides: { type: 'string', default: 'service,bare,peer' },
    only: { type: 'string' },
    profile: { type: 'string' },
    statements: { type: 'boolean', default: false },
    output: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const connections = values.connections.split(',').map(Number);
const sideNames = values.sides.split(',') as SideName[];
const parts = values.only?.split(',');
const chosen = operations.filter(({ key }) => !parts || parts.some((part) => key.includes(part)));
// Until code is compiled and statements are prepared on all connections: in seconds, and in operations, since code is compiled by how often
// it ran. Slow operations get a longer time, within a limit: all sides alike.
const warmUp = { seconds: 2, operations: 12_000, most: 30 };
// A machine shared with others: a round during which they took more than this share of the processors is repeated, on all sides, twice at
// most, and only while the repetitions add less than half of the planned time. The try with the least share counts.
const maxStolen = 0.05;
/** Whether an operation is chosen whose key begins so. */
const measures = (part: string): boolean => chosen.some(({ key }) => key.startsWith(part));
const comparing = values.profile === undefined && !values.statements;
const people = Math.max(...connections, 32);
// before this process is pinned to some of them
const places = placement();
const say = (line: string) => process.stdout.write(`${line}\n`);

await withService(benchSettings, main, {
  postgres: values.postgres,
  inspected: values.profile !== undefined,
  database: databaseSettings,
});

async function main({ service, settings, connection, databasePid, folder, stops }: Bed): Promise<void> {
  const place = (pid: number | undefined, where: 'server' | 'rest') => {
    if (places && pid !== undefined) pin(pid, places[where]);
  };
  place(process.pid, 'rest');
  place(databasePid, 'rest');
  // those of the pool existed before
  const sql = new pg.Client(connection);
  await sql.connect();
  stops.push(() => sql.end());
  await sql.query('CREATE EXTENSION pg_stat_statements');
  await countStatements(sql, false);

  say('preparing: people, clients, tokens');
  const inspected = values.profile !== undefined;
  // the address of the service that runs: another one may not use its database
  const beside = { ...settings, BASE_URL: service.base };
  const cheap = await startService(folder, settings, { instead: 'bench/cheap-passwords.ts', inspected });
  stops.push(() => cheap.stop());
  const certified = chosen.some(({ key }) => key.endsWith('-mtls'))
    ? await startService(folder, { ...beside, ...certificateSettings }, { inspected })
    : undefined;
  if (certified) stops.push(() => certified.stop());
  const documents: string[] = [];
  for (const path of ['.well-known/openid-configuration', 'jwks']) {
    const file = join(folder, `constant-${documents.length}`);
    writeFileSync(file, await (await fetch(`${service.base}/${path}`)).text());
    documents.push(file);
  }
  const sides: Partial<Record<SideName, Side>> = {
    service: await serviceSide(service, cheap, settings, people, measures('forward-auth'), {
      exchanges: measures('token-exchange'),
      certified,
    }),
  };
  if (sideNames.includes('bare') && comparing) {
    const bare = await startReference(settings.DATABASE_URL, Number(benchSettings.DATABASE_POOL_SIZE), documents);
    stops.push(() => bare.stop());
    sides.bare = await bareSide(bare, people);
  }
  if (sideNames.includes('peer') && comparing) {
    const peer = await startPeer(settings.DATABASE_URL, Number(benchSettings.DATABASE_POOL_SIZE), people);
    stops.push(() => peer.stop());
    sides.peer = await peerSide(peer, people);
  }
  // processes that were started on any processor, with the database's processes since then
  for (const side of Object.values(sides)) place(side.pidOf('userinfo'), 'server');
  for (const each of [cheap, certified]) place(each?.pid, 'server');
  for (const pid of processorTimes(databasePid!).keys()) place(pid, 'rest');

  if (values.profile !== undefined) {
    await profiles(sides.service!, [service, cheap, ...(certified ? [certified] : [])], values.profile);
    return;
  }
  if (values.statements) {
    await statementCosts(sides.service!, sql);
    return;
  }
  const all: Measured[] = chosen.map((operation) => ({ operation, rounds: {}, statements: {} }));
  const meter = async (side: Side, operation: Operation, load: Load, count: number, time: number): Promise<Costs> => {
    const pid = side.pidOf(operation.key);
    const look = async () => [processorTimes(pid), processorTimes(databasePid!), await walBytes(sql)] as const;
    let begin = await look();
    const round = await load(count, time, async () => {
      begin = await look();
    });
    return {
      ...round,
      serverCpu: between(begin[0], processorTimes(pid)) / round.count,
      databaseCpu: between(begin[1], processorTimes(databasePid!)) / round.count,
      wal: ((await walBytes(sql)) - begin[2]) / round.count,
    };
  };

  say('warming up, and counting statements');
  for (const { operation, statements } of all) {
    for (const [name, side] of entries(sides)) {
      const load = side.loads[operation.key];
      if (!load) continue;
      await warmedUp(load, Math.min(32, operation.most ?? 32));
      statements[name] = await statementsOf(sql, async () => (await load(1, 0.2)).count);
    }
  }
  await sql.query('CHECKPOINT');

  const servers = [...new Set(Object.values(sides).flatMap((side) => chosen.map(({ key }) => side.pidOf(key))))];
  /** One round of an operation on all sides, and the greatest share of the processors that the host took from one of them. */
  const measure = async ({ operation }: Measured, count: number, round: number) => {
    const costs: Partial<Record<SideName, Costs>> = {};
    let stolen = 0;
    // the order changes, so that no side always gets the warmer machine
    const turn = entries(sides);
    for (const [name, side] of [...turn.slice(round % turn.length), ...turn.slice(0, round % turn.length)]) {
      const load = side.loads[operation.key];
      if (!load) continue;
      const others = servers.filter((pid) => pid !== side.pidOf(operation.key));
      const [before, begin] = [stolenTime(), performance.now()];
      costs[name] = await alone(others, () => meter(side, operation, load, count, seconds));
      const elapsed = ((performance.now() - begin) / 1000) * availableParallelism();
      stolen = Math.max(stolen, (stolenTime() - before) / elapsed);
    }
    return { costs, stolen };
  };

  const began = performance.now();
  const disturbed = { share: maxStolen, repeated: 0, left: 0, of: all.length * connections.length * rounds };
  for (const count of connections) {
    for (let round = 0; round < rounds; round++) {
      for (const one of all) {
        if (count > (one.operation.most ?? Infinity)) continue;
        let best = await measure(one, count, round);
        for (let left = 2; left > 0 && best.stolen > maxStolen && disturbed.repeated < disturbed.of / 2; left--) {
          disturbed.repeated++;
          const again = await measure(one, count, round);
          if (again.stolen < best.stolen) best = again;
        }
        if (best.stolen > maxStolen) disturbed.left++;
        for (const [name, costs] of entries(best.costs)) ((one.rounds[name] ??= {})[count] ??= []).push(costs);
      }
      const time = ((performance.now() - began) / 1000).toFixed(0);
      say(`${count} connections: round ${round + 1} of ${rounds} (${time} s, ${disturbed.repeated} asked again)`);
    }
  }
  const memory = residentMemory(service.pid);
  const facts = { ...(await circumstances(sql)), disturbed, memory, start: await startTime(beside, folder) };
  say(textReport(all, facts));
  const whole = values.only === undefined && sideNames.length === 3 && connections.length > 1;
  const output = values.output ?? (whole ? fileURLToPath(new URL('../docs/benchmark.md', import.meta.url)) : undefined);
  if (output !== undefined) writeFileSync(output, asMarkdown(all, facts) + guardSection());
}

/** Runs the work while the other servers are stopped: work after their own round, such as garbage collection, would disturb the next. */
async function alone<T>(others: number[], work: () => Promise<T>): Promise<T> {
  for (const pid of others) process.kill(pid, 'SIGSTOP');
  try {
    return await work();
  } finally {
    for (const pid of others) process.kill(pid, 'SIGCONT');
  }
}

function entries<T>(sides: Partial<Record<SideName, T>>): [SideName, T][] {
  return Object.entries(sides) as [SideName, T][];
}

async function warmedUp(load: Load, count: number): Promise<void> {
  let [time, operations] = [0, 0];
  do {
    operations += (await load(count, warmUp.seconds)).count;
    time += warmUp.seconds;
  } while (operations < warmUp.operations && time < warmUp.most);
}

async function profiles(side: Side, processes: Child[], folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const { key, name } of chosen) {
    const load = side.loads[key];
    if (!load) continue;
    await warmedUp(load, 32);
    const { inspector } = processes.find(({ pid }) => pid === side.pidOf(key))!;
    const top = await profiled(inspector!, join(folder, `${key}.cpuprofile`), () => load(32, Math.max(seconds, 2)));
    say(`${name}\n${top}\n`);
  }
}

async function statementCosts(side: Side, sql: pg.Client): Promise<void> {
  for (const { key, name } of chosen) {
    const load = side.loads[key];
    if (!load) continue;
    await warmedUp(load, 32);
    say(`${name}\n${await costsOf(sql, async () => (await load(32, seconds)).count)}\n`);
  }
}

/** The start of another instance, on the migrated database with users; the median of three. */
async function startTime(settings: Record<string, string>, folder: string): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < 3; count++) {
    const another = await startService(folder, settings);
    times.push(another.startTime!);
    await another.stop();
  }
  return times.sort((a, b) => a - b)[1]!;
}

async function circumstances(sql: pg.Client): Promise<Omit<Circumstances, 'disturbed' | 'start' | 'memory'>> {
  const { rows } = await sql.query<{ version: string }>(`SELECT current_setting('server_version') AS version`);
  const file = new URL('../node_modules/oidc-provider/package.json', import.meta.url);
  const peer = (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  return {
    node: process.versions.node,
    postgres: `PostgreSQL ${rows[0]!.version.split(' ')[0]}`,
    peer,
    machine: machine(),
    placement: places
      ? `the server that is measured runs on processor ${places.server} alone, with its threads; PostgreSQL and the load on processor ${places.rest} (taskset), for each of the three alike`
      : 'load, servers and PostgreSQL share all processors',
    connections,
    poolSize: Number(benchSettings.DATABASE_POOL_SIZE),
    warmUp,
    rounds,
    seconds,
  };
}
