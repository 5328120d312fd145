// Compares the processor time of an operation on two services that run at once, in alternating slices: the cost of a change.
//
//   node bench/compare.ts --before ../gatehouse-before --only introspect-live,userinfo   another checkout, and this one
//   node bench/compare.ts --guard --write                                                the version that guards the everyday operations, and this one
//   node bench/compare.ts --with federation --only sign-in-flow,code-flow                this checkout without, and with one connection and one
//                                                                                        client that only a group may use
//   node bench/compare.ts --with signals                                                 this checkout without, and with one webhook, one audit
//                                                                                        stream and traces of one request in a hundred
//
// Further options: --slices 24, --seconds 2 of each, --starts 6. Both checkouts need their packages (npm ci). Each service has a database of its own
// and is stopped while the other is measured. The result is the median of the ratios of neighbouring slices, with their quartiles: neighbours see the
// same machine, also one whose speed changes. A difference smaller than that spread does not count. One start of a service may cost a quarter more
// than the next for as long as it runs, since the compiler decides otherwise, so the slices are shared among several starts of both.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import type * as bedHere from './bed.ts';
import { type Bed, benchSettings, databaseSettings } from './bed.ts';
import type * as childrenHere from './children.ts';
import { command } from './children.ts';
import { redirectUri } from './flows.ts';
import { checkOutGuard, type Compared, guarded, writeGuardSection } from './guard.ts';
import { between, processorTimes } from './meter.ts';
import { type OperationKey, operations } from './operations.ts';
import { type Signals, startSignals } from './signals.ts';
import type * as sideHere from './sides/service.ts';
import type { Side } from './sides/side.ts';

const { values } = parseArgs({
  options: {
    before: { type: 'string' },
    with: { type: 'string' },
    guard: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    only: { type: 'string' },
    slices: { type: 'string', default: '24' },
    seconds: { type: 'string', default: '2' },
    starts: { type: 'string', default: '6' },
  },
});
if ([values.before !== undefined, values.with !== undefined, values.guard].filter(Boolean).length !== 1)
  throw new Error(
    'Name the other checkout, --before FOLDER or --guard, or what is added to this one: --with federation or --with signals',
  );
if (values.write && (!values.guard || values.only !== undefined))
  throw new Error('--write goes with --guard, and with all of its operations');
if (values.with !== undefined && !['federation', 'signals'].includes(values.with))
  throw new Error('--with knows only: federation, signals');
const here = resolve(import.meta.dirname, '..');
const slices = Number(values.slices);
const seconds = Number(values.seconds);
const starts = Number(values.starts);
const connections = 32;
const keys = (values.only ?? guarded.join(',')).split(',').map((key) => {
  if (!operations.some((operation) => operation.key === key)) throw new Error(`There is no operation ${key}.`);
  return key as OperationKey;
});

/** A service with its database, and the loads for it. */
interface Contender {
  side: Side;
  databasePid: number;
  /** Of the service, and of the same service with cheap passwords. */
  pids: number[];
}

/** Starts the service of a checkout with the code of that checkout, since its operations may have other preparations. */
async function withContender(
  folder: string,
  { prepare, own = {} }: { prepare(bed: Bed): Promise<void>; own?: Record<string, string> },
  work: (contender: Contender) => Promise<void>,
): Promise<void> {
  const load = (file: string) => import(pathToFileURL(resolve(folder, 'bench', file)).href);
  const { withService } = (await load('bed.ts')) as Pick<typeof bedHere, 'withService'>;
  const { startService } = (await load('children.ts')) as Pick<typeof childrenHere, 'startService'>;
  const { serviceSide } = (await load('sides/service.ts')) as Pick<typeof sideHere, 'serviceSide'>;
  const run = async (bed: Bed) => {
    const { service, settings, databasePid, stops } = bed;
    await prepare(bed);
    const cheap = await startService(bed.folder, settings, { instead: 'bench/cheap-passwords.ts' });
    stops.push(() => cheap.stop());
    const side = await serviceSide(
      service,
      cheap,
      settings,
      connections,
      keys.some((key) => key.startsWith('forward-auth')),
      { exchanges: keys.includes('token-exchange') },
    );
    await work({ side, databasePid: databasePid!, pids: [service.pid, cheap.pid] });
  };
  await withService({ ...benchSettings, ...own }, run, { database: databaseSettings });
}

/** One connection with a domain, and one client that only the members of a group may use. */
async function addFederation({ connection, settings }: Bed): Promise<void> {
  const restricted = await command(
    ['client', 'create', '--name', 'Restricted', '--redirect-uri', redirectUri],
    settings,
  );
  const sql = new pg.Client(connection);
  await sql.connect();
  try {
    await sql.query(`INSERT INTO connections (id, kind, display_name, status, settings)
    VALUES ('company', 'oidc', 'Company', 'enabled', '{"issuer": "https://company.example", "client_id": "gatehouse"}')`);
    await sql.query(`INSERT INTO groups (name) VALUES ('staff')`);
    await sql.query(`UPDATE clients SET access = 'groups', access_groups = '{staff}' WHERE client_id = $1`, [
      restricted['client_id'],
    ]);
  } finally {
    await sql.end();
  }
}

/** Processor time of one request in microseconds, of the service and of its database. */
async function measure({ side, databasePid }: Contender, key: OperationKey): Promise<[number, number]> {
  const load = side.loads[key];
  if (!load) throw new Error(`The checkout has no operation ${key}.`);
  const look = () => [side.pidOf(key), databasePid].map(processorTimes);
  let begin = look();
  const { count } = await load(connections, seconds, async () => {
    begin = look();
  });
  const end = look();
  const [service, database] = begin.map((times, index) => (between(times, end[index]!) / count) * 1e6);
  return [service!, database!];
}

/** Stops the processes of the other service during the work. */
async function without<T>({ pids }: Contender, work: () => Promise<T>): Promise<T> {
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  try {
    return await work();
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT');
  }
}

const at = (sorted: number[], part: number) => sorted[Math.round((sorted.length - 1) * part)]!;
const sum = ([service, database]: [number, number]) => service + database;
const sortedOf = (times: number[]) => times.toSorted((a, b) => a - b);

/** What the slices of all starts have measured of an operation. */
interface Measured {
  times: [[number, number][], [number, number][]];
  ratios: number[];
}

/** Measures the operations in the slices of one start. */
async function measurePairs(before: Contender, now: Contender, all: Map<OperationKey, Measured>): Promise<void> {
  for (const [key, { times, ratios }] of all)
    for (let slice = -3; slice < slices / starts; slice++) {
      const pair: [number, number][] = [];
      // the order changes, so that neither side always follows the other; the first three pairs warm up
      for (const index of slice % 2 === 0 ? [0, 1] : [1, 0]) {
        const [one, other] = index === 0 ? [before, now] : [now, before];
        pair[index] = await without(other, () => measure(one, key));
      }
      if (slice < 0) continue;
      times[0].push(pair[0]!);
      times[1].push(pair[1]!);
      ratios.push(sum(pair[1]!) / sum(pair[0]!));
    }
}

/** Prints the medians and quartiles of an operation. */
function summarize(key: OperationKey, { times, ratios }: Measured): Compared {
  const [first, second] = times.map((side) => sortedOf(side.map(sum))) as [number[], number[]];
  const ratio = sortedOf(ratios);
  const median = (side: 0 | 1, part: 0 | 1) => at(sortedOf(times[side].map((each) => each[part])), 0.5).toFixed(1);
  const parts = (side: 0 | 1) => `(service ${median(side, 0)}, database ${median(side, 1)})`;
  const shown = `before ${at(first, 0.5).toFixed(1)} µs ${parts(0)}, now ${at(second, 0.5).toFixed(1)} µs ${parts(1)}`;
  const spread = `quartiles ${at(ratio, 0.25).toFixed(3)} to ${at(ratio, 0.75).toFixed(3)}`;
  console.log(`${key}: ${shown}, now/before ${at(ratio, 0.5).toFixed(3)} (${spread})`);
  const quartiles: [number, number] = [at(ratio, 0.25), at(ratio, 0.75)];
  return { key, before: at(first, 0.5), now: at(second, 0.5), ratio: at(ratio, 0.5), quartiles };
}

const nothing = { prepare: async () => {} };
const signals: Signals | undefined = values.with === 'signals' ? await startSignals() : undefined;
const added = signals
  ? { prepare: signals.addWebhook, own: signals.settings }
  : values.with === 'federation'
    ? { prepare: addFederation }
    : nothing;
const other = values.guard ? checkOutGuard() : values.before === undefined ? here : resolve(values.before);
const all = new Map(keys.map((key): [OperationKey, Measured] => [key, { times: [[], []], ratios: [] }]));
for (let start = 1; start <= starts; start++) {
  await withContender(other, nothing, (before) => withContender(here, added, (now) => measurePairs(before, now, all)));
  console.log(`start ${start} of ${starts} is measured`);
}
if (signals) console.log(`requests to the receivers: ${JSON.stringify(signals.counts)}`);
signals?.stop();
const compared = [...all].map(([key, measured]) => summarize(key, measured));
if (values.write) writeGuardSection(compared, slices, starts);
