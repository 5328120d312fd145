// Runs the plain SQL files of migrations/ forward, under a lock that lets one of several instances do it.
import { readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { refuseStandby } from './standby.ts';

const folder = fileURLToPath(new URL('../../migrations', import.meta.url));
// any constant: the lock's name among all advisory locks of the database
const lockKey = 7_106_342;
const oldestMajor = 15;
// A change of a table waits for whoever uses it, and all who come later wait behind it: so it waits briefly, and comes again.
const lockTimeout = 1_000; // milliseconds
const lockPause = 1_000; // milliseconds in which the others get their turn
const lockAttempts = 60;

/** The database cannot be used as it is; the message says what to do. */
export class MigrationError extends Error {}

/**
 * Brings the schema up to date and returns the names of the migrations that ran.
 * Several instances may call it at once: one works, the others wait and find nothing to do. Each file is a transaction, and
 * the previous version goes on serving: no request waits longer than a second for it (security F19).
 * @throws MigrationError when the server is older than PostgreSQL 15, the schema is newer than this version, or somebody
 * uses a table that has to change for minutes on end
 */
export async function migrate(connection: pg.ClientConfig, directory = folder): Promise<string[]> {
  const client = new pg.Client({
    ...connection,
    connectionTimeoutMillis: 10_000,
    application_name: 'gatehouse migrations',
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await refuseStandby(client);
    const version = await client.query<{ major: number; encoding: string }>(
      `SELECT current_setting('server_version_num')::int / 10000 AS major, current_setting('server_encoding') AS encoding`,
    );
    const { major, encoding } = version.rows[0]!;
    if (major < oldestMajor)
      throw new MigrationError(`The database is PostgreSQL ${major}; Gatehouse needs ${oldestMajor} or later.`);
    if (encoding !== 'UTF8')
      throw new MigrationError(
        `The database's encoding is ${encoding}; Gatehouse needs a database made with ENCODING 'UTF8'.`,
      );
    await client.query('SELECT pg_advisory_lock($1)', [lockKey]);
    const present = new Set((await readdir(directory)).map((file) => file.replace(/\.sql$/, '')));
    const known = await migrationsOf(client);
    const unknown = known.find((name) => !present.has(name));
    if (unknown !== undefined) {
      throw new MigrationError(
        `The database has the migration ${unknown}, which this version does not know: start the newer version.`,
      );
    }
    if (known.length === present.size) return [];
    await client.query(`SET lock_timeout = ${lockTimeout}`);
    for (let attempt = 1; ; attempt++) {
      try {
        await runPending(client, directory);
        return (await migrationsOf(client)).filter((name) => !known.includes(name));
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
        await client.query('ROLLBACK');
        if (attempt === lockAttempts)
          throw new MigrationError(
            'The database cannot be migrated: a table that has to change is in use without a pause. End long transactions, then start again.',
            { cause: error },
          );
        await delay(lockPause * (0.5 + Math.random()));
      }
    }
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The names of what has run, none on an empty database. */
async function migrationsOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client
    .query<{ name: string }>('SELECT name FROM migrations ORDER BY id')
    .catch((error: unknown) => {
      // undefined_table
      if (error instanceof pg.DatabaseError && error.code === '42P01') return { rows: [] };
      throw error;
    });
  return rows.map(({ name }) => name);
}

async function runPending(client: pg.Client, directory: string): Promise<void> {
  // most starts have nothing to do, and need not load it
  const { runner } = await import('node-pg-migrate');
  await runner({
    dbClient: client,
    dir: directory,
    direction: 'up',
    migrationsTable: 'migrations',
    noLock: true,
    // each file by itself: what is done stays done, and no lock is held longer than its own file needs it
    singleTransaction: false,
    verbose: false,
    logger: { info: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined },
  });
}

/** SQLSTATE 55P03, lock_not_available. */
function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '55P03';
}
