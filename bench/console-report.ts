// Reports the result of the console's benchmark as docs/console.md, and lists the failures in it.
import type { Amounts } from './console-data.ts';
import type { Ran } from './plans.ts';
import { version } from './report.ts';

export interface MeasuredPage {
  name: string;
  address: string;
  status: number;
  bytes: number;
  /** Milliseconds from the request to the last byte of the answer. */
  times: number[];
  ran: Ran[];
}

/** An act by a form of the console, which answers with a redirect when it is done. */
export interface ActResult {
  name: string;
  address: string;
  status: number;
  /** Milliseconds. */
  time: number;
}

export interface Facts {
  scale: number;
  amounts: Amounts;
  calls: number;
  /** Seconds. */
  filled: number;
  /** The number of rows from which a table is big. */
  big: number;
  bigTables: { name: string; rows: number }[];
  acts: ActResult[];
  postgres: string;
  cpus: number;
}

/** @param share 0.5 for the median */
function percentile(times: readonly number[], share: number): string {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(1);
}

const number = (value: number) => value.toLocaleString('en');
const row = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`;

/** Statements that count rows of a big table for a page that is rarely opened, and what they count. */
const counting: Readonly<Record<string, string>> = {
  'connections.without_other_way':
    'the page that deletes a connection counts the users who would have no other way to sign in, so it reads all users of the connection',
};

export function asMarkdown(pages: readonly MeasuredPage[], facts: Facts): { text: string; failures: string[] } {
  const big = new Set(facts.bigTables.map(({ name }) => name));
  const wrong = ({ name, read }: Ran) => (name in counting ? [] : read.filter((table) => big.has(table)));
  const failures = pages.flatMap(({ name, address, status, ran }) => [
    ...(status === 200 ? [] : [`${name} (${address}) answers ${status}`]),
    ...ran.flatMap((one) => wrong(one).map((table) => `${name} (${address}): ${one.name} reads all of ${table}`)),
  ]);
  for (const { name, address, status } of facts.acts)
    if (status !== 303) failures.push(`${name} (${address}) answers ${status}`);
  const everywhere = pages[0]!.ran.filter(({ name }) => pages.every(({ ran }) => ran.some((one) => one.name === name)));
  const common = new Set(everywhere.map(({ name }) => name));
  const plans = (ran: readonly Ran[]) =>
    [
      row(['Statement', 'Plan', 'Blocks', 'ms']),
      row(['---', '---', '---:', '---:']),
      ...ran.map((one) =>
        row([
          `\`${one.name}\``,
          (one.scans.join('; ') || 'no table') +
            (wrong(one).length > 0 ? ' **(reads a big table from end to end)**' : ''),
          number(one.blocks),
          one.duration.toFixed(1),
        ]),
      ),
    ].join('\n');
  const { amounts } = facts;
  const text = `# The console over a big database

\`node bench/console.ts --scale ${facts.scale}\` wrote this page: it fills a database, requests each page of the console, and reads the plan with which PostgreSQL
answered each of its statements. ${facts.scale === 1 ? '' : `**This is a run at ${facts.scale} of the full size, which is not conclusive: PostgreSQL rightly reads small tables whole.** `}The planner chooses by
the number of rows, so only a run at full size (1,000,000 users, 10,000 clients, 10,000,000 events of the audit trail) shows the plans of a big installation.

- ${number(amounts.users)} users in ${number(amounts.groups)} groups, ${number(amounts.clients)} clients, ${number(amounts.sessions)} sessions with ${number(amounts.clientSessions)} authorizations, ${number(amounts.auditEvents)} events; made in ${number(Math.round(facts.filled))} s
- PostgreSQL ${facts.postgres} with its default memory, ${facts.cpus} CPUs for the service, the database and the client together, one process of the service
- a time is from the request to the last byte of the answer, on the loopback interface; ${facts.calls} consecutive calls, after two that are not counted
- ${version()}
- failures: ${failures.length === 0 ? 'none' : `${failures.length}, named below`}

## Times

${row(['Page', 'p50 ms', 'p95 ms', 'KB', 'Statements', 'Slowest statement'])}
${row(['---', '---:', '---:', '---:', '---:', '---'])}
${pages
  .map(({ name, status, bytes, times, ran }) => {
    const own = ran.filter((one) => !common.has(one.name));
    const slowest = own.reduce<Ran | undefined>(
      (most, one) => (most && most.duration >= one.duration ? most : one),
      undefined,
    );
    return row([
      status === 200 ? name : `${name} **(answers ${status})**`,
      percentile(times, 0.5),
      percentile(times, 0.95),
      (bytes / 1000).toFixed(0),
      own.length,
      slowest ? `\`${slowest.name}\`` : '',
    ]);
  })
  .join('\n')}

${failures.length === 0 ? `No statement of any page reads a big table (${number(facts.big)} rows or more) from end to end, but for one: ${Object.values(counting).join('; ')}.` : `**Failures:**\n\n${failures.map((failure) => `- ${failure}`).join('\n')}`}

Big are ${facts.bigTables.map(({ name, rows }) => `\`${name}\` (${number(rows)} rows)`).join(', ') || 'none of the tables'}. A \`Seq Scan\` of another table reads a few pages, which costs
as little as an index.

## Acts that touch many rows

The connection has ${number(amounts.identities)} identities, and the provisioning target has ${number(amounts.accounts)} accounts. The console deletes
no group with more than 1,000 members; the command line does. The time is from the form that is sent to the answer.

${row(['Act', 'ms'])}
${row(['---', '---:'])}
${facts.acts.map(({ name, status, time }) => row([status === 303 ? name : `${name} **(answers ${status})**`, number(Math.round(time))])).join('\n')}

## Plans

Each page was called eight times with PostgreSQL's extension auto_explain; each plan of a statement has a line. A block has 8 KiB; the time includes
the cost of auto_explain.

### Every page: session and administrator

${plans(everywhere)}
${pages
  .map(({ name, address, ran }) => {
    const own = ran.filter((one) => !common.has(one.name));
    const shown = `\n### ${name}\n\n\`${address.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d/g, '…')}\``;
    return own.length === 0 ? `${shown}: no statement of its own.\n` : `${shown}\n\n${plans(own)}\n`;
  })
  .join('')}`;
  return { text, failures };
}
