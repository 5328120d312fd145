// Reports the result of bench/growth.ts, line by line and as docs/growth.md.
import { operations, type OperationKey } from './operations.ts';
import { median, version } from './report.ts';

/** The figures of one operation, round by round. */
export interface Found {
  /** Operations in a second. */
  rates: number[];
  /** The same divided by the bare reference's in that round. */
  ratios: number[];
  /** Microseconds of the processors of service and PostgreSQL together. */
  costs: number[];
}

/** All operations at one size of the table. */
export interface Stage {
  size: number;
  /** The size of the table with its indexes. */
  bytes: number;
  /** Seconds. */
  filled: number;
  /** The number of different tokens in the requests. */
  asked: number;
  found: Partial<Record<OperationKey, Found>>;
}

export interface GrowthFacts {
  postgres: string;
  /** shared_buffers. */
  buffers: string;
  machine: string;
  rounds: number;
  seconds: number;
  /** Seconds of each operation before its rounds. */
  warmUp: number;
  connections: number;
  poolSize: number;
}

/** The least share of the rate with the fewest rows, and the number of rows to which it applies. */
const target = { ratio: 0.9, rows: 50_000_000 };
const number = (value: number) => value.toLocaleString('en');
const range = (values: number[]) => `${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)}`;
const row = (cells: string[]) => `| ${cells.join(' | ')} |`;
const verdict = (ratio: number) => (ratio >= target.ratio ? 'met' : '**missed**');

export function summary(title: string, key: OperationKey, { rates, ratios, costs }: Found): string {
  const rate = median(rates).toFixed(0).padStart(6);
  const ratio = `${median(ratios).toFixed(2)} of the bare one's (${range(ratios)})`;
  return `${title.padEnd(24)} ${key.padEnd(20)} ${rate} a second, ${ratio}, ${median(costs).toFixed(0)} µs of processors`;
}

/** The value at the target's size on a line through the figures, by the logarithm of the rows. */
function extrapolate(stages: Stage[], figures: number[]): number {
  const xs = stages.map(({ size }) => Math.log10(size));
  const mean = (list: number[]) => list.reduce((sum, each) => sum + each, 0) / list.length;
  const [x, y] = [mean(xs), mean(figures)];
  const slope =
    xs.reduce((sum, each, index) => sum + (each - x) * (figures[index]! - y), 0) /
    Math.max(
      1e-9,
      xs.reduce((sum, each) => sum + (each - x) ** 2, 0),
    );
  return y + slope * (Math.log10(target.rows) - x);
}

export function asMarkdown(
  stages: Stage[],
  meanwhile: { found: Stage['found']; deleted: number; wanted: number },
  facts: GrowthFacts,
): string {
  const [first, last] = [stages[0]!, stages.at(-1)!];
  const whole = last.size >= target.rows;
  const keys = Object.keys(first.found) as OperationKey[];
  const ratioOf = (found: Stage['found'], key: OperationKey) => median(found[key]!.ratios);
  const name = (key: OperationKey) => operations.find((operation) => operation.key === key)!.name;
  const header = (cells: string[]) => [row(cells), row(cells.map((_, index) => (index === 0 ? '---' : '---:')))];
  const table = keys.flatMap((key) =>
    stages.map(({ size, found }, index) => {
      const { rates, ratios, costs } = found[key]!;
      const part = ratioOf(found, key) / ratioOf(first.found, key);
      return row([
        index === 0 ? name(key) : '',
        number(size),
        number(Math.round(median(rates))),
        median(ratios).toFixed(2),
        range(ratios),
        median(costs).toFixed(0),
        index === 0 ? '' : part.toFixed(2),
        size >= target.rows ? `${target.ratio} ${verdict(part)}` : '',
      ]);
    }),
  );
  const extrapolated = keys.map((key) => {
    const part = extrapolate(
      stages,
      stages.map(({ found }) => ratioOf(found, key) / ratioOf(first.found, key)),
    );
    return row([name(key), part.toFixed(2), verdict(part)]);
  });
  const during = keys.map((key) => {
    const { rates, ratios, costs } = meanwhile.found[key]!;
    return row([
      name(key),
      number(Math.round(median(rates))),
      median(ratios).toFixed(2),
      range(ratios),
      median(costs).toFixed(0),
      (ratioOf(meanwhile.found, key) / ratioOf(last.found, key)).toFixed(2),
    ]);
  });
  return `# Growth

\`node bench/growth.ts\` wrote this page. It measures operations of [the benchmark](benchmark.md) with a growing number of access tokens in the database, and while the service
deletes expired rows. The service and
[a bare Fastify server](../bench/reference.ts) are measured in turn on the same PostgreSQL. The bare server's own table stays small, so the ratio of both can be compared
between the sizes, independent of the machine's other work.

- ${version()}
- ${facts.machine}; Node ${process.versions.node}, PostgreSQL ${facts.postgres} with fsync on, wal_level minimal and shared_buffers ${facts.buffers},
  about a quarter of the memory
- ${facts.connections} connections, pools of ${facts.poolSize}, ${facts.rounds} rounds of ${facts.seconds} s each, after a warm-up of ${facts.warmUp} s; medians, and the smallest and the largest ratio
- ${stages.map(({ size, bytes, filled }) => `${number(size)} rows: ${(bytes / 1e9).toFixed(2)} GB with indexes, made in ${filled.toFixed(0)} s`).join('; ')}
- introspections of live tokens use ${number(last.asked)} tokens from random places of the whole table (${number(first.asked)} tokens at the first
  size). The warm-up uses the same tokens, because the first access of a PostgreSQL process to a page costs more than an index lookup. The bare server reads few rows
  again and again. The other tables have the rows of ${facts.connections} users, and do not grow

## By the number of rows

${stages.map(({ size }) => number(size)).join(', ')} rows were measured${whole ? '' : `. The values for ${number(target.rows)} rows are extrapolated below`}. The last ratio divides the ratio of the row by that of the first size.

${[...header(['Operation', 'Rows', 'a second', 'ratio to bare', 'spread', 'CPU µs', 'ratio to the first size', 'target']), ...table].join('\n')}
${
  whole
    ? ''
    : `
For ${number(target.rows)} rows, a straight line through these figures over the logarithm of the rows, because an index grows like that. **Extrapolated, not measured:**

${[...header(['Operation', 'ratio to the first size', `target ${target.ratio}`]), ...extrapolated].join('\n')}
`
}
## While expired rows are deleted

With ${number(last.size)} rows, and ${number(Math.round(meanwhile.deleted))} expired rows deleted a second with the statement of the retention job (the target was ${number(meanwhile.wanted)}), in batches of 1,000, during
the load:

${[...header(['Operation', 'a second', 'ratio to bare', 'spread', 'CPU µs', 'ratio to that without deletion']), ...during].join('\n')}

The processor time includes the deletion itself.
`;
}
