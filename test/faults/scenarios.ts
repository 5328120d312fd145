// Defines the faults of docs/security.md that a database has, each under load, and what is checked after it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { freePort, startServer } from '../helpers/server-process.ts';
import type { Bed } from './bed.ts';
import type { LoadBed } from './load-bed.ts';

/** The result of one fault, in milliseconds. */
export interface Figure {
  /** From the start of the fault to the first success after it. */
  outage: number;
  /** From the end of the fault to the first success after it. */
  recovery: number;
}

export interface Scenario {
  title: string;
  /** How long, in seconds, or how often, in the program and in the tests. */
  full: number;
  short: number;
  run(bed: Bed, extent: number): Promise<Figure[]>;
}

export const scenarios = {
  kill: {
    title: 'PostgreSQL is killed (kill -9) and started again',
    full: 10,
    short: 1,
    run: (bed, times) =>
      repeat(times, () =>
        underFault(bed, async () => {
          await bed.primary.kill();
          return () => bed.primary.start();
        }),
      ),
  },
  failover: {
    title: 'The primary is killed, its synchronous standby is promoted, and the address moves there',
    full: 6,
    short: 1,
    run: (bed, times) =>
      repeat(times, async () => {
        if (!bed.standby) await bed.addStandby();
        return underFault(bed, async () => {
          await bed.primary.kill();
          return () => bed.failOver();
        });
      }),
  },
  astray: {
    title: 'The address leads to the standby, which lags behind, while the primary is still there',
    full: 5,
    short: 0.5,
    run: async (bed, seconds) => {
      const standby = bed.standby ?? (await bed.addStandby());
      return once(bed, async () => {
        // from here on the standby is out of date: a new token would look unknown to it
        await standby.sql('SELECT pg_wal_replay_pause()');
        const { revocations } = bed.load.states.counts;
        while (bed.load.states.counts.revocations < revocations + 2) await delay(10);
        bed.forwarder.move(standby.port);
        await delay(seconds * 1000);
        return async () => {
          await standby.sql('SELECT pg_wal_replay_resume()');
          bed.forwarder.move(bed.primary.port);
        };
      });
    },
  },
  stall: {
    title:
      'The standby stands still, so that nothing can be acknowledged; then the primary is killed and the standby promoted',
    full: 2,
    short: 0,
    run: (bed, times) =>
      repeat(times, async () => {
        const standby = bed.standby ?? (await bed.addStandby());
        return underFault(bed, async () => {
          standby.freeze();
          await delay(6_000);
          await bed.primary.kill();
          return async () => {
            standby.thaw();
            await bed.failOver();
          };
        });
      }),
  },
  freeze: {
    title: 'PostgreSQL stands still (SIGSTOP) and goes on',
    full: 30,
    short: 5.5,
    run: (bed, seconds) =>
      once(bed, async () => {
        bed.primary.freeze();
        await delay(seconds * 1000);
        return async () => bed.primary.thaw();
      }),
  },
  terminate: {
    title: 'Connections are ended one after the other (pg_terminate_backend)',
    full: 60,
    short: 1,
    run: async (bed, seconds) => {
      let ended = 0;
      const before = bed.load.requests.counts.unavailable;
      const figures = await once(bed, async () => {
        ended = await terminateConnections(bed, seconds * 1000);
        return async () => undefined;
      });
      const failed = bed.load.requests.counts.unavailable - before;
      // at most the one request that each of them had (security F7)
      if (failed > ended) bed.load.violations.push(`${ended} connections were ended, and ${failed} requests failed`);
      return figures;
    },
  },
  cut: {
    title: 'Connections are cut where something is committed, before or after the database got it',
    full: 80,
    short: 8,
    run: (bed, times) =>
      once(bed, async () => {
        for (let turn = 0; turn < times; turn++) {
          const statement = committing[Math.floor(turn / 2) % committing.length]!;
          bed.forwarder.cutAt = { statement, when: turn % 2 ? 'before' : 'after' };
          while (bed.forwarder.cutAt) await delay(5);
        }
        return async () => undefined;
      }),
  },
  exhaust: {
    title: 'A long transaction holds what every request needs, until no connection is free',
    full: 20,
    short: 3,
    run: (bed, seconds) =>
      once(bed, async () => {
        const holder = await connected(bed);
        await holder.query('BEGIN');
        await holder.query('LOCK TABLE clients IN ACCESS EXCLUSIVE MODE');
        await delay(seconds * 1000);
        return () => holder.end();
      }),
  },
  readonly: {
    title: 'The database is read-only (default_transaction_read_only)',
    full: 10,
    short: 0.5,
    run: (bed, seconds) =>
      once(bed, async () => {
        await setReadOnly(bed, 'on');
        await delay(seconds * 1000);
        return () => setReadOnly(bed, 'off');
      }),
  },
  full: {
    title: 'The disk of the database is full',
    full: 10,
    short: 0.5,
    run: (bed, seconds) =>
      once(bed, async () => {
        const mend = process.getuid?.() === 0 && seconds >= 1 ? await fillDisk(bed) : await sayDiskFull(bed);
        const before = bed.load.requests.counts.unavailable;
        await delay(seconds * 1000);
        if (bed.load.requests.counts.unavailable === before) bed.load.violations.push('the full disk was not noticed');
        return mend;
      }),
  },
  boot: {
    title: 'The database is down at the start of a service, and comes later',
    full: 60,
    short: 1,
    run: async (bed, seconds) => {
      const begin = performance.now();
      await bed.primary.kill();
      const late = startServer({ ...bed.settings, PORT: String(await freePort()) });
      await delay(seconds * 1000);
      await bed.primary.start();
      const back = performance.now();
      await late.ready();
      const { status } = await fetch(`http://localhost:${late.port}/health/ready`);
      if (status !== 200) bed.load.violations.push(`/health/ready after the start was answered with ${status}`);
      late.kill('SIGTERM');
      await late.exited;
      await bed.load.firstSuccess(begin, () => true);
      return [{ outage: performance.now() - begin, recovery: performance.now() - back }];
    },
  },
} satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof scenarios;

/** The names of statements that commit: transactions, and single statements. */
const committing = ['commit', 'refresh_tokens.rotate', 'authorization_codes.redeem', 'access_tokens.insert_for_client'];

/** The error of a full disk, at every insertion. */
const diskFull = `
  CREATE FUNCTION disk_full() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
  CREATE TRIGGER disk_full BEFORE INSERT ON access_tokens FOR EACH ROW EXECUTE FUNCTION disk_full();
  CREATE TRIGGER disk_full BEFORE INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION disk_full();
  CREATE TRIGGER disk_full BEFORE INSERT ON sessions FOR EACH ROW EXECUTE FUNCTION disk_full()`;

async function sayDiskFull(bed: Bed): Promise<() => Promise<void>> {
  for (;;) {
    try {
      await bed.primary.sql(diskFull);
      break;
    } catch (error) {
      // it locks one table after the other, as the load does
      if ((error as pg.DatabaseError).code !== '40P01') throw error;
    }
  }
  return async () => void (await bed.primary.sql('DROP FUNCTION disk_full CASCADE'));
}

/** A full disk in reality: the tokens and their index are on a small file system without any room; only root can make one. */
async function fillDisk(bed: Bed): Promise<() => Promise<void>> {
  const folder = join(bed.folder, 'small');
  mkdirSync(folder);
  const { uid, gid } = bed.primary.account!;
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=8m,uid=${uid},gid=${gid},mode=700`, 'tmpfs', folder]);
  bed.onClose(() => execFileSync('umount', [folder]));
  await bed.primary.sql(`CREATE TABLESPACE small LOCATION '${folder}'`);
  // without the room that deleted rows have left in it
  for (const table of ['access_tokens', 'audit_events']) await bed.primary.sql(`VACUUM FULL ${table}`);
  for (const what of ['TABLE access_tokens', 'INDEX access_tokens_pkey', 'TABLE audit_events'])
    await bed.primary.sql(`ALTER ${what} SET TABLESPACE small`);
  const filler = join(folder, 'filler');
  try {
    writeFileSync(filler, Buffer.alloc(16 * 1024 * 1024));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
  return async () => rmSync(filler);
}

async function repeat(times: number, work: () => Promise<Figure>): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (let turn = 0; turn < times; turn++) figures.push(await work());
  return figures;
}

const once = async (bed: Bed, fault: Parameters<typeof underFault>[1]): Promise<Figure[]> => [
  await underFault(bed, fault),
];

/**
 * Causes a fault under load, mends it, waits for the first success, and checks everything that was acknowledged.
 * @param fault returns the function that mends it
 * @param isBack what must hold before a request whose success counts is sent
 * @param goesOn milliseconds for which the load continues afterwards
 */
export async function underFault(
  bed: LoadBed,
  fault: () => Promise<() => Promise<void>>,
  { isBack = () => true, goesOn = 200 }: { isBack?: () => boolean; goesOn?: number } = {},
): Promise<Figure> {
  bed.load.begin();
  await delay(200 + Math.random() * 300);
  const begin = performance.now();
  try {
    const mend = await fault();
    await mend();
    const back = performance.now();
    const outage = await bed.load.firstSuccess(begin, isBack);
    await delay(goesOn);
    await bed.load.end();
    await bed.load.verifyRound();
    return { outage, recovery: outage - (back - begin) };
  } finally {
    await bed.load.end();
  }
}

/** Ends a connection of the services each 50 ms; returns how many. */
async function terminateConnections(bed: Bed, milliseconds: number): Promise<number> {
  const client = await connected(bed);
  let ended = 0;
  for (const begin = performance.now(); performance.now() - begin < milliseconds; await delay(50)) {
    const { rowCount } = await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'gatehouse%' ORDER BY random() LIMIT 1`,
    );
    ended += rowCount ?? 0;
  }
  await client.end();
  return ended;
}

async function connected(bed: Bed): Promise<pg.Client> {
  const client = new pg.Client(bed.primary.connection);
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function setReadOnly(bed: Bed, value: 'on' | 'off'): Promise<void> {
  const client = await connected(bed);
  await client.query('SET default_transaction_read_only = off');
  await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
  await client.query('SELECT pg_reload_conf()');
  await client.end();
}
