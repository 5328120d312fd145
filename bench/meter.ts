// Measures the cost of an operation besides time: processor time of a server and of PostgreSQL, statements, bytes of WAL; and pins
// processes to processors.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type pg from 'pg';

/** Processor time in seconds by process, of all its threads. */
type Times = Map<number, number>;

function secondsOf(pid: number): number {
  let nanoseconds = 0;
  for (const task of readdirSync(`/proc/${pid}/task`))
    nanoseconds += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
  return nanoseconds / 1e9;
}

/** A process and its children. */
function treeOf(pid: number): number[] {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
    );
    return [pid, ...children.flatMap((child) => treeOf(Number(child)))];
  } catch {
    return [];
  }
}

/** The processor time of a process and its children so far; empty where Linux does not report it. */
export function processorTimes(pid: number): Times {
  const times: Times = new Map();
  for (const each of treeOf(pid)) {
    try {
      times.set(each, secondsOf(each));
    } catch {
      // it has ended meanwhile
    }
  }
  return times;
}

/** In seconds; a process that ended in between does not count. */
export function between(before: Times, after: Times): number {
  let sum = 0;
  for (const [pid, seconds] of after) sum += seconds - (before.get(pid) ?? 0);
  return sum;
}

/**
 * Seconds that the host has taken from this machine's processors so far, for others; 0 where Linux does not report it (proc_stat(5),
 * steal).
 */
export function stolenTime(): number {
  try {
    const ticks = Number(readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.split(/ +/)[8]);
    return ticks / 100;
  } catch {
    return 0;
  }
}

/** In MB. */
export function residentMemory(pid: number): number {
  const kilobytes = treeOf(pid).map((each) =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${each}/status`, 'utf8'))?.[1] ?? 0),
  );
  return kilobytes.reduce((sum, each) => sum + each, 0) / 1024;
}

export async function walBytes(sql: pg.Client): Promise<number> {
  const { rows } = await sql.query<{ bytes: number }>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS bytes`,
  );
  return rows[0]!.bytes;
}

/** Switches the counting of pg_stat_statements on or off: a busy connection follows from its next statement on. */
export async function countStatements(sql: pg.Client, on: boolean): Promise<void> {
  await sql.query(`ALTER SYSTEM SET pg_stat_statements.track = '${on ? 'top' : 'none'}'`);
  await sql.query('SELECT pg_reload_conf(), pg_sleep(0.05)');
}

/** Counts the statements that reach the server while `work` runs, BEGIN and COMMIT included; `work` returns the number of operations. */
export async function statementsOf(sql: pg.Client, work: () => Promise<number>): Promise<number> {
  await countStatements(sql, true);
  await sql.query('SELECT pg_stat_statements_reset()');
  const count = await work();
  const { rows } = await sql.query<{ calls: number }>(
    `SELECT coalesce(sum(calls), 0)::float8 AS calls FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'`,
  );
  await countStatements(sql, false);
  return rows[0]!.calls / count;
}

/** The cost of an operation's statements on the server, including those of triggers and functions: a table, the most expensive first. */
export async function costsOf(sql: pg.Client, work: () => Promise<number>): Promise<string> {
  const tracking = async (on: boolean) => {
    await sql.query(`ALTER SYSTEM SET pg_stat_statements.track_planning = ${on ? 'on' : 'off'}`);
    await sql.query(`ALTER SYSTEM SET pg_stat_statements.track = '${on ? 'all' : 'none'}'`);
    await sql.query('SELECT pg_reload_conf(), pg_sleep(0.05)');
  };
  await tracking(true);
  await sql.query('SELECT pg_stat_statements_reset()');
  const count = await work();
  const { rows } = await sql.query<Record<'calls' | 'plans' | 'planning' | 'execution', number> & { query: string }>(
    `SELECT calls, plans, total_plan_time AS planning, total_exec_time AS execution, toplevel, query
     FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%' ORDER BY total_plan_time + total_exec_time DESC`,
  );
  await tracking(false);
  const per = (value: number, digits = 0) => (value / count).toFixed(digits).padStart(8);
  const lines = rows
    .slice(0, 25)
    .map(
      ({ calls, plans, planning, execution, query }) =>
        `${per(calls, 2)} ${per(plans, 2)} ${per(planning * 1000)} ${per(execution * 1000)}  ${query.replace(/\s+/g, ' ').slice(0, 110)}`,
    );
  return ['   calls    plans  plan µs  exec µs  of one operation', ...lines].join('\n');
}

/** How processes share the processors: the measured server has one to itself. */
export function placement(): { server: string; rest: string } | undefined {
  const count = availableParallelism();
  if (count < 2 || spawnSync('taskset', ['--version']).error) return undefined;
  return { server: '0', rest: count === 2 ? '1' : `1-${count - 1}` };
}

/** Pins all threads of a process, and its future children, to these processors. */
export function pin(pid: number, processors: string): void {
  const { status } = spawnSync('taskset', ['-acp', processors, String(pid)], { stdio: 'ignore' });
  if (status !== 0) throw new Error(`taskset could not hold the process ${pid} on the processors ${processors}`);
}
