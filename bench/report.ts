// The benchmark's result as a table for the terminal and as docs/benchmark.md.
import type { Round } from './load.ts';

export interface Measured {
  operation: string;
  reference: string;
  subject: Round[];
  bare: Round[];
}

export interface Circumstances {
  node: string;
  postgres: string;
  cpus: number;
  connections: number;
  poolSize: number;
  rounds: number;
  seconds: number;
}

const median = (values: number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

const range = (values: number[], digits: number) =>
  `${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)}`;

const header = [
  'Operation',
  'a second',
  'spread',
  'p50 ms',
  'p99 ms',
  'Reference',
  'a second',
  'spread',
  'Ratio',
  'spread',
];

function rows(measured: Measured[]): string[][] {
  return measured.map(({ operation, reference, subject, bare }) => {
    const own = subject.map((round) => round.rate);
    const other = bare.map((round) => round.rate);
    const ratios = own.map((rate, index) => rate / other[index]!);
    return [
      operation,
      median(own).toFixed(0),
      range(own, 0),
      median(subject.map((round) => round.p50)).toFixed(1),
      median(subject.map((round) => round.p99)).toFixed(1),
      reference,
      median(other).toFixed(0),
      range(other, 0),
      median(ratios).toFixed(2),
      range(ratios, 2),
    ];
  });
}

export function asText(measured: Measured[]): string {
  const lines = [header, ...rows(measured)];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines.map((line) => line.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')).join('\n');
}

export function asMarkdown(measured: Measured[], facts: Circumstances): string {
  const lines = [header, header.map(() => '---'), ...rows(measured)].map((cells) => `| ${cells.join(' | ')} |`);
  return `# Benchmark

\`npm run bench\` measures the service beside a bare reference in one run and writes this file. The reference is a
Fastify server with nothing but one prepared SELECT by primary key and one INSERT, on the same PostgreSQL, with the
same pool size. Absolute figures belong to the machine; the ratios carry over.

- Node ${facts.node}, ${facts.postgres}, fsync on, ${facts.cpus} CPUs for load, server and database together
- one process each; ${facts.connections} connections, pool size ${facts.poolSize}, log level info to a file, all other settings at their defaults
- ${facts.rounds} rounds of ${facts.seconds} s of each, service and reference in turn; medians, and in the columns "spread" the least and the greatest
  (a wide spread means that the machine had other work meanwhile: then only the ratio of the medians of several runs says something)

${lines.join('\n')}

- **Client credentials**: POST /token with HTTP Basic. It authenticates the client, stores an access token, and answers when it is on disk.
- **UserInfo**: GET /user/info with one of ${facts.connections} access tokens. It asks the database each time, so that a revocation counts at once.
- **Code flow**: GET /authorize with a remembered session, POST /token with PKCE, which signs an ID Token (RS256, 2048 bits), GET /user/info. The reference
  does the least that such a flow cannot do without: it reads two rows and stores two, in four requests, and signs nothing.
- **Discovery**: GET /.well-known/openid-configuration beside a constant JSON object of a tenth of its size.
`;
}
