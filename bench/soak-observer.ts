// Observes the service during the soak: times of answers, memory, the database's connections, rows and waits.
import { readFileSync } from 'node:fs';
import pg from 'pg';

export interface Sample {
  minute: number;
  /** Requests a second since the last sample. */
  rate: number;
  /** Milliseconds. */
  p99: number;
  longest: number;
  /** Resident memory of the service, bytes. */
  rss: number;
  connections: number;
  /** Rows of all tables but the audit trail. */
  live: number;
  /** The size of those tables and their indexes on disk, bytes. */
  bytes: number;
  audit: number;
  rows: Record<string, number>;
}

const count = `SELECT c.relname AS name, pg_total_relation_size(c.oid)::float8 AS bytes
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'r' AND n.nspname = 'public'`;
// the clean-up holds this advisory lock for each batch (src/repositories/retention/expired.ts)
const cleaning = `SELECT
    EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 7106343 AND granted) AS working,
    (SELECT count(*)::int FROM pg_stat_activity waiting WHERE wait_event_type = 'Lock' AND EXISTS (
       SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 7106343 AND granted
         AND pid = ANY (pg_blocking_pids(waiting.pid)))) AS held_up`;

/** Samples everything each half minute, and the clean-up ten times a second. @param minutes of the whole run */
export async function observe(connection: pg.ClientConfig, pid: number, minutes: number) {
  const client = new pg.Client(connection);
  client.on('error', () => undefined);
  await client.connect();
  const begin = performance.now();
  const samples: Sample[] = [];
  const longest: Record<string, { all: number; cleaning: number }> = {};
  let times: number[] = [];
  let since = begin;
  let working = false;
  let cleanUps = 0;
  let heldUp = 0;

  const period = Math.min(30_000, (minutes * 60_000) / 8); // milliseconds
  const samplers = [
    repeat(100, async () => {
      const { rows } = await client.query<{ working: boolean; held_up: number }>(cleaning);
      working = rows[0]!.working;
      if (working) cleanUps++;
      if (rows[0]!.held_up > 0) heldUp++;
    }),
    repeat(period, async () => samples.push(await sample())),
  ];

  async function sample(): Promise<Sample> {
    const now = performance.now();
    const [taken, seconds] = [times.sort((a, b) => a - b), (now - since) / 1000];
    [times, since] = [[], now];
    const tables = (await client.query<{ name: string; bytes: number }>(count)).rows;
    const rows: Record<string, number> = {};
    for (const { name } of tables) {
      // the trail is long and only grows: an estimate is enough
      const text =
        name === 'audit_events'
          ? `SELECT n_live_tup::int AS n FROM pg_stat_user_tables WHERE relname = '${name}'`
          : `SELECT count(*)::int AS n FROM ${pg.escapeIdentifier(name)}`;
      rows[name] = (await client.query<{ n: number }>(text)).rows[0]!.n;
    }
    const others = tables.filter(({ name }) => name !== 'audit_events');
    const { rows: open } = await client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE backend_type = 'client backend'`,
    );
    return {
      minute: (now - begin) / 60_000,
      rate: taken.length / seconds,
      p99: taken[Math.floor(taken.length * 0.99)] ?? 0,
      longest: taken.at(-1) ?? 0,
      rss: Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024,
      connections: open[0]!.n,
      live: others.reduce((sum, { name }) => sum + rows[name]!, 0),
      bytes: others.reduce((sum, { bytes }) => sum + bytes, 0),
      audit: rows['audit_events'] ?? 0,
      rows,
    };
  }

  return {
    answered(path: string, milliseconds: number): void {
      times.push(milliseconds);
      const known = (longest[path] ??= { all: 0, cleaning: 0 });
      known.all = Math.max(known.all, milliseconds);
      if (working) known.cleaning = Math.max(known.cleaning, milliseconds);
    },
    async result() {
      for (const sampler of samplers) await sampler.stop();
      return { samples, longest, heldUp, cleanUps };
    },
    async stop(): Promise<void> {
      for (const sampler of samplers) await sampler.stop();
      await client.end();
    },
  };
}

/** Repeats the work, one at a time. @param milliseconds between two starts */
function repeat(milliseconds: number, work: () => Promise<unknown>): { stop(): Promise<void> } {
  let running: Promise<unknown> | undefined;
  let failure: unknown;
  const timer = setInterval(() => {
    running ??= work()
      .catch((error: unknown) => (failure = error))
      .finally(() => (running = undefined));
  }, milliseconds);
  return {
    async stop() {
      clearInterval(timer);
      await running;
      if (failure !== undefined) throw failure;
    },
  };
}
