// Writes the benchmark's result as tables for the terminal and for docs/benchmark.md.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { type Operation, type SideName, targetCpu, targetMemory, targetTail } from './operations.ts';
import type { Round } from './load.ts';

/** One round with its costs, each for one operation: seconds of processors, bytes. */
export interface Costs extends Round {
  serverCpu: number;
  databaseCpu: number;
  wal: number;
}

export interface Measured {
  operation: Operation;
  /** By side and connections. */
  rounds: Partial<Record<SideName, Record<number, Costs[]>>>;
  /** The statements of one operation. */
  statements: Partial<Record<SideName, number>>;
}

export interface Circumstances {
  node: string;
  postgres: string;
  peer: string;
  machine: string;
  placement: string;
  connections: number[];
  poolSize: number;
  /** The warm-up of each row's first round: seconds, or operations if they take longer, but no more than the most seconds. */
  warmUp: { seconds: number; operations: number; most: number };
  /**
   * Rounds of an operation from which the host took more than this share of the processors: how many were repeated, and how many counted
   * all the same.
   */
  disturbed: { share: number; repeated: number; left: number; of: number };
  rounds: number;
  seconds: number;
  /** Milliseconds of a start on a migrated database, and MB after the load. */
  start: number;
  memory: number;
}

export const median = (values: number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};
/** The machine, for a page with figures. */
export function machine(): string {
  const kernel = spawnSync('uname', ['-sr'], { encoding: 'utf8' }).stdout.trim();
  const memory = (totalmem() / 2 ** 30).toFixed(0);
  return `${cpus().length} processors (${cpus()[0]?.model ?? 'unknown'}), ${memory} GB of memory, ${kernel}`;
}
/** The version that is measured, for a page with figures. */
export function version(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const commit = spawnSync('git', ['rev-parse', '--short', 'HEAD'], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  }).stdout?.trim();
  return `version ${version}${commit ? `, commit ${commit}` : ''}`;
}
const range = (values: number[], digits: number) =>
  `${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)}`;
const verdict = (met: boolean) => (met ? 'met' : '**missed**');

/** The service's rate divided by another side's, round by round. */
function ratios({ rounds }: Measured, side: SideName, connections: number): number[] | undefined {
  const own = rounds.service?.[connections];
  const other = rounds[side]?.[connections];
  return own && other && own.map((round, index) => round.rate / other[index]!.rate);
}

function against(measured: Measured, side: SideName, connections: number): string[] {
  const found = ratios(measured, side, connections);
  if (!found) return ['-', '-', ''];
  const ratio = median(found);
  return [
    median(measured.rounds[side]![connections]!.map((round) => round.rate)).toFixed(0),
    ratio.toFixed(2),
    range(found, 2),
  ];
}

function verdictOf(measured: Measured, connections: number): string {
  const found = ratios(measured, 'peer', connections);
  const target = measured.operation.targetPeer;
  return !found || target === undefined ? '' : `${target} ${verdict(median(found) >= target)}`;
}

const rateHeader = [
  'Operation',
  'a second',
  'spread',
  'bare, a second',
  'ratio',
  'spread',
  'peer, a second',
  'ratio',
  'spread',
  'target',
];
function rates(all: Measured[], connections: number): string[][] {
  const rows = all.flatMap((measured) => {
    const { operation, rounds } = measured;
    const own = rounds.service?.[connections]?.map((round) => round.rate);
    if (!own) return [];
    return [
      [
        operation.name,
        median(own).toFixed(0),
        range(own, 0),
        ...against(measured, 'bare', connections),
        ...against(measured, 'peer', connections),
        verdictOf(measured, connections),
      ],
    ];
  });
  return [rateHeader, ...rows];
}

const microseconds = (seconds: number) => (seconds * 1e6).toFixed(0);
/** Processor time of the server and of PostgreSQL for one operation, and both. */
function cpuOf(rounds: Costs[] | undefined): { text: string; sum: number } | undefined {
  if (!rounds) return undefined;
  const server = median(rounds.map((round) => round.serverCpu));
  const database = median(rounds.map((round) => round.databaseCpu));
  return { text: `${microseconds(server)} + ${microseconds(database)}`, sum: server + database };
}

const costHeader = [
  'Operation',
  'CPU µs, server + database',
  'bare',
  'peer',
  'ratio to the peer',
  `at most ${targetCpu}`,
  'statements',
  'bare',
  'peer',
  'WAL bytes',
  'bare',
  'peer',
];
function costs(all: Measured[], connections: number): string[][] {
  const rows = all.map(({ operation, rounds, statements }) => {
    const sides = (['service', 'bare', 'peer'] as const).map((side) => rounds[side]?.[connections]);
    const [own, bare, peer] = sides.map(cpuOf);
    const part = own && peer && own.sum / peer.sum;
    const counts = (['service', 'bare', 'peer'] as const).map((side) => statements[side]?.toFixed(1) ?? '-');
    const bytes = sides.map((found) => found && median(found.map((round) => round.wal)).toFixed(0));
    return [
      operation.name,
      ...[own, bare, peer].map((cpu) => cpu?.text ?? '-'),
      part === undefined ? '-' : part.toFixed(2),
      part === undefined ? '' : verdict(part <= targetCpu),
      ...counts,
      ...bytes.map((text) => text ?? '-'),
    ];
  });
  return [costHeader, ...rows];
}

function latencies(all: Measured[], connections: number[]): string[][] {
  const most = Math.max(...connections);
  const comparesTail = connections.includes(32) && most > 32;
  const header = [
    'Operation',
    ...connections.flatMap((count) => [`service, ${count}`, `bare, ${count}`, `peer, ${count}`]),
    ...(comparesTail ? [`ratio of p99 at ${most} to p99 at 32`, `at most ${targetTail}`] : []),
  ];
  const rows = all.map(({ operation, rounds }) => {
    const cell = (side: SideName, count: number) => {
      const found = rounds[side]?.[count];
      if (!found) return '-';
      return `${median(found.map(({ p50 }) => p50)).toFixed(2)} / ${median(found.map(({ p99 }) => p99)).toFixed(2)}`;
    };
    const tail = (count: number) => rounds.service?.[count] && median(rounds.service[count].map(({ p99 }) => p99));
    const growth = comparesTail && tail(most) !== undefined ? tail(most)! / tail(32)! : undefined;
    return [
      operation.name,
      ...connections.flatMap((count) => [cell('service', count), cell('bare', count), cell('peer', count)]),
      ...(comparesTail ? (growth === undefined ? ['-', ''] : [growth.toFixed(1), verdict(growth <= targetTail)]) : []),
    ];
  });
  return [header, ...rows];
}

function asText(lines: string[][]): string {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines.map((line) => line.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')).join('\n');
}

function asTable([header, ...rows]: string[][]): string {
  return [header!, header!.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const usual = (connections: number[]) => (connections.includes(32) ? 32 : connections[0]!);

export function textReport(all: Measured[], { connections, start, memory }: Circumstances): string {
  const parts = connections.map((count) => `${count} connections\n${asText(rates(all, count))}`);
  return [
    ...parts,
    `Costs at ${usual(connections)} connections\n${asText(costs(all, usual(connections)))}`,
    `p50 / p99 in ms by connections\n${asText(latencies(all, connections))}`,
    `Start ${start.toFixed(0)} ms, memory ${memory.toFixed(0)} MB`,
    '',
  ].join('\n\n');
}

export function asMarkdown(all: Measured[], facts: Circumstances): string {
  const { connections } = facts;
  const first = usual(connections);
  const others = connections.filter((count) => count !== first);
  return `# Benchmark

\`npm run bench\` wrote this page. It measures the service and two other servers in one run, in turn, on one PostgreSQL:

- **bare**: [a Fastify server](../bench/reference.ts) that does only what an operation requires, with one or two prepared statements.
- **peer**: [\`oidc-provider\` ${facts.peer}](../bench/peer.ts), with [a table for each model](../bench/peer-adapter.ts), indexes, and prepared statements.

Absolute figures depend on the machine; the ratios depend on it very little. A ratio is the median over the rounds, and “spread” is the smallest and the largest value. A wide
spread means that the machine had other work meanwhile.

## Circumstances

- ${version()}
- ${facts.machine}
- Node ${facts.node} with NODE_ENV=production for all three, ${facts.postgres} with fsync, synchronous_commit and full_page_writes on, shared_buffers 512 MB,
  a checkpoint every 30 minutes (so that no round contains a checkpoint), and pg_stat_statements, which is active only in the runs that count statements
- ${facts.placement}
- one process each; while one is measured, the other two are stopped (SIGSTOP); pools of ${facts.poolSize} connections to PostgreSQL by its Unix socket; ${facts.rounds} rounds of ${facts.seconds} s for each row, side and number of connections
- warm-up, so that code is compiled: before its first round, each row ran on each side for at least ${facts.warmUp.seconds} s, and until ${facts.warmUp.operations} operations were done, but for at most ${facts.warmUp.most} s
- if the host took more than ${(facts.disturbed.share * 100).toFixed(0)} % of the processors (steal) during a round of a row, all sides of this round were repeated: ${facts.disturbed.repeated} times;
  ${facts.disturbed.left} of ${facts.disturbed.of} were counted although the repetitions were no better
- the service: log level info to a file, limits so high that the load does not reach them, tokens with a lifetime of an hour so that none expires during the run, otherwise the defaults
- the peer: its clients in the database; opaque tokens; RS256 with 2048 bits, as the service's default; PKCE; introspection, client credentials, revocation
  and UserInfo enabled; signed cookies; each refresh rotates; two small forms instead of the development pages, and no log. It deletes no expired
  rows, writes no audit trail and sends pages without a design; the service does all three
- the load: [the benchmark's own HTTP client](../bench/wire.ts) with persistent connections and one request at a time on each. It uses less processor time
  than any of the servers

## Rates at ${first} connections

${asTable(rates(all, first))}

What the bare reference does in each row:

${all.map(({ operation }) => `- ${operation.name}: ${operation.bare}`).join('\n')}

In the row “Sign-in with password” the bare reference hashes with Argon2id, with the parameters and the concurrency of the service. In the row above it the
service hashes at no cost, and the peer's form does not check the password.

## Costs at ${first} connections

Processor time of the server process and of all PostgreSQL processes; statements as pg_stat_statements counts them, with BEGIN and COMMIT; bytes of WAL,
which contain whole pages after each checkpoint.

${asTable(costs(all, first))}

## Time of one operation

p50 / p99 in milliseconds, by connections.

${asTable(latencies(all, connections))}

${others.map((count) => `## Rates at ${count} ${count === 1 ? 'connection' : 'connections'}\n\n${asTable(rates(all, count))}`).join('\n\n')}

## Start and memory

Time from the start until the first answer, on a migrated PostgreSQL: ${facts.start.toFixed(0)} ms (target 1,000: ${verdict(facts.start < 1000)}). Resident memory of this process after the
load: ${facts.memory.toFixed(0)} MB (target ${targetMemory}: ${verdict(facts.memory <= targetMemory)}).
`;
}
