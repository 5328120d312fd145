// Fails over Patroni, again and again under load, by HAProxy alone and through PgBouncer: node test/faults/patroni.ts [--kills 5] [--write]
//
// Starts the cluster that docs/scaling.md shows, kills the leader, and checks everything that was acknowledged. --write puts its table into
// that page. Needs Debian's packages patroni, etcd-server, haproxy, pgbouncer and postgresql-15; takes about six minutes.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { LoadBed } from './load-bed.ts';
import { missingPackages, PatroniCluster, type Victim } from './patroni-cluster.ts';
import { underFault } from './scenarios.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '5' },
    through: { type: 'string', default: 'haproxy,pgbouncer' },
    write: { type: 'boolean', default: false },
  },
});
const page = join(import.meta.dirname, '../../docs/scaling.md');
const loaded = 3_000; // milliseconds of load before each kill, and after the first success
const victims: Victim[] = ['PostgreSQL', 'Patroni', 'both'];

type Entry = 'haproxy' | 'pgbouncer';

class PatroniBed extends LoadBed {
  readonly cluster: PatroniCluster;

  private constructor(folder: string, cluster: PatroniCluster, entry: Entry) {
    const direct = cluster.url('haproxy');
    super(
      folder,
      entry === 'haproxy'
        ? { DATABASE_URL: direct }
        : {
            DATABASE_URL: cluster.url('pgbouncer'),
            DATABASE_DIRECT_URL: direct,
            // Debian's PgBouncer is older than 1.21
            DATABASE_PREPARED_STATEMENTS: 'false',
          },
    );
    this.cluster = cluster;
  }

  static async open(entry: Entry): Promise<PatroniBed> {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-patroni-'));
    chmodSync(folder, 0o755);
    const bed = new PatroniBed(folder, await PatroniCluster.start(folder), entry);
    try {
      await bed.startServices(2, () => bed.cluster.connection);
    } catch (error) {
      await bed.close();
      throw error;
    }
    return bed;
  }

  async close(): Promise<string[]> {
    const lines = await this.stopServices();
    await this.cluster.close();
    rmSync(this.folder, { recursive: true, force: true });
    return lines;
  }
}

/** The result of a kill: seconds until the first success at the new leader, and until all three nodes were together again. */
interface Round {
  victim: Victim;
  outage: number;
  whole: number;
}

interface Run {
  entry: Entry;
  rounds: Round[];
  checked: string;
  versions: string;
  violations: string[];
}

async function run(entry: Entry, kills: number): Promise<Run> {
  const bed = await PatroniBed.open(entry);
  const { cluster } = bed;
  const rounds: Round[] = [];
  let versions = '';
  try {
    versions = await cluster.versions();
    for (let turn = 0; turn < kills; turn++) {
      const victim = victims[turn % victims.length]!;
      let begin = 0;
      let old = cluster.leader;
      const kill = async () => {
        await delay(loaded);
        begin = performance.now();
        old = cluster.kill(victim);
        return async () => undefined;
      };
      const isBack = () => cluster.leader !== undefined && cluster.leader !== old;
      const { recovery: outage } = await underFault(bed, kill, { isBack, goesOn: loaded });
      cluster.startPatroni(old!);
      await cluster.untilWhole();
      const whole = performance.now() - begin;
      rounds.push({ victim, outage: outage / 1000, whole: whole / 1000 });
      const { refusal } = bed.takeTimes();
      console.log(
        `${entry}, kill ${turn + 1} (${victim} of ${old}): first success after ${(outage / 1000).toFixed(1)} s, whole after ${(whole / 1000).toFixed(0)} s, slowest 503 ${Math.round(refusal)} ms`,
      );
    }
    await bed.load.verifyAll();
  } catch (error) {
    bed.load.violations.push(String(error instanceof Error ? error.stack : error));
  } finally {
    const lines = await bed.close();
    const errors = lines.filter((text) => /"level":[56]0/.test(text) && !text.includes('DatabaseUnavailable'));
    for (const line of errors.slice(-5)) console.log(`log: ${line}`);
  }
  return { entry, rounds, versions, checked: bed.load.summary, violations: bed.violations };
}

function asMarkdown(runs: Run[]): string {
  const through = { haproxy: 'HAProxy', pgbouncer: 'PgBouncer, HAProxy' };
  const rows = runs.flatMap(({ entry, rounds }) =>
    victims.flatMap((victim) => {
      const own = rounds.filter((round) => round.victim === victim);
      if (own.length === 0) return [];
      const seconds = (figure: 'outage' | 'whole', digits: number) =>
        own.map((round) => round[figure].toFixed(digits)).join(', ');
      const what = victim === 'both' ? 'PostgreSQL and Patroni' : `${victim} alone`;
      return [`| ${through[entry]} | ${what} | ${seconds('outage', 1)} | ${seconds('whole', 0)} |`];
    }),
  );
  return [
    '| Through | Killed process of the leader | Seconds until the first success | until three nodes were together again |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
    `With ${runs[0]!.versions}, Node ${process.versions.node}. The work of the load, checked afterwards:`,
    '',
    ...runs.map(({ entry, checked }) => `- ${through[entry]}: ${checked}`),
  ].join('\n');
}

const missing = missingPackages();
if (missing.length > 0) {
  console.log(`NOT RUN: first install ${missing.join(', ')} (Debian's packages).`);
  process.exit(2);
}
const runs: Run[] = [];
for (const entry of values.through.split(',') as Entry[]) runs.push(await run(entry, Number(values.kills)));
const violations = runs.flatMap((each) => each.violations);
for (const violation of violations.slice(0, 10)) console.log(`WRONG: ${violation}`);
console.log(`\n${asMarkdown(runs)}\n`);
console.log(
  violations.length > 0
    ? 'Something was lost or wrong.'
    : 'Nothing acknowledged was lost, and nothing wrong was answered.',
);
if (values.write && violations.length === 0) {
  const place = /(<!-- patroni.ts writes this -->\n\n).*?(<!-- until here -->)/s;
  const text = readFileSync(page, 'utf8');
  if (!place.test(text)) throw new Error(`${page} has no place for the table`);
  writeFileSync(
    page,
    text.replace(place, (_, begin: string, end: string) => `${begin}${asMarkdown(runs)}\n\n${end}`),
  );
}
process.exitCode = violations.length > 0 ? 1 : 0;
