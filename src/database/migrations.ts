// Brings the schema up to date with the SQL files of migrations/, under a lock that only one of several instances gets.
import { readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { adopt, isBeforeBaseline } from './adoption.ts';
import { MigrationError } from './migration-error.ts';
import { refuseStandby } from './standby.ts';
import { installStoredFunctions } from './stored-functions.ts';

export { MigrationError };

export interface MigrationOptions {
  directory?: string;
  /**
   * Runs in the transaction that adopts a database from before the baseline, before the schema changes. The transaction may be retried, so the
   * function must have no effect but its statements.
   */
  beforeAdoption?: ((client: pg.ClientBase) => Promise<void>) | undefined;
}

const folder = fileURLToPath(new URL('../../migrations', import.meta.url));
const fileName = /^(\d{4}_\w+)\.sql$/;
// an arbitrary constant that identifies this advisory lock
const lockKey = 7_106_342;
const oldestMajor = 15;
// ALTER TABLE waits for all transactions that use the table, and later ones queue behind it. So it waits briefly, and tries again.
const lockTimeout = 1_000; // milliseconds
const lockPause = 1_000; // milliseconds in which other transactions can use the table
const lockAttempts = 60;

/**
 * Brings the schema up to date, installs the stored functions, and returns the names of the migrations that ran. Several instances may call
 * it at once: one works, and the others wait and find nothing to do. Each file is a transaction. The previous version keeps serving, and
 * none of its requests waits longer than a second (security F19). A database from before the baseline is adopted in one transaction, for
 * which the operator stops all older instances.
 * @throws MigrationError when the server is older than PostgreSQL 15, the schema is newer than this version or too old for it, an older
 * instance is connected, or transactions use a table that has to change for minutes without a pause
 */
export async function migrate(
  connection: pg.ClientConfig,
  { directory = folder, beforeAdoption }: MigrationOptions = {},
): Promise<string[]> {
  const client = new pg.Client({
    ...connection,
    connectionTimeoutMillis: 10_000,
    application_name: 'gatehouse migrations',
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await refuseStandby(client);
    await checkServer(client);
    await client.query('SELECT pg_advisory_lock($1)', [lockKey]);
    const files = (await readdir(directory)).flatMap((file) => fileName.exec(file)?.[1] ?? []).sort();
    const before = await migrationsOf(client);
    const adopts = isBeforeBaseline(before);
    if (adopts)
      await untilUnlocked(client, () =>
        adoptInTransaction(client, { directory, files, known: before, beforeAdoption }),
      );
    const known = adopts ? await migrationsOf(client) : before;
    const unknown = known.find((name) => !files.includes(name));
    if (unknown !== undefined) {
      throw new MigrationError(
        `The database has the migration ${unknown}, which is unknown to this version: start the newer version.`,
      );
    }
    const pending = files.filter((name) => !known.includes(name));
    if (pending.length > 0) await untilUnlocked(client, () => runPending(client, directory));
    await installStoredFunctions(client);
    return [...known.filter((name) => !before.includes(name)), ...pending];
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ major: number; encoding: string; has_icu: boolean }>(
    `SELECT current_setting('server_version_num')::int / 10000 AS major, current_setting('server_encoding') AS encoding,
            EXISTS (SELECT FROM pg_catalog.pg_collation WHERE collname = 'und-x-icu' AND collprovider = 'i') AS has_icu`,
  );
  const { major, encoding, has_icu: hasIcu } = rows[0]!;
  if (major < oldestMajor)
    throw new MigrationError(`The database is PostgreSQL ${major}; Gatehouse requires ${oldestMajor} or later.`);
  if (encoding !== 'UTF8')
    throw new MigrationError(
      `The database's encoding is ${encoding}; Gatehouse requires a database with ENCODING 'UTF8'.`,
    );
  // names are compared by it, so that they are equal on every database (security R153)
  if (!hasIcu)
    throw new MigrationError(
      `The database lacks the collation und-x-icu; Gatehouse requires a PostgreSQL that is built with ICU.`,
    );
}

/** The names of the migrations that have run: none on an empty database. */
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

async function adoptInTransaction(...[client, adoption]: Parameters<typeof adopt>): Promise<void> {
  await client.query('BEGIN');
  await adopt(client, adoption);
  await client.query('COMMIT');
}

async function runPending(client: pg.Client, directory: string): Promise<void> {
  // loaded here, since a start without pending migrations does not need it
  const { runner } = await import('node-pg-migrate');
  await runner({
    dbClient: client,
    dir: directory,
    ignorePattern: '\\..*|adoption\\.sql',
    direction: 'up',
    migrationsTable: 'migrations',
    noLock: true,
    // each file is a transaction, so that a table is locked only while its own file runs
    singleTransaction: false,
    verbose: false,
    logger: { info: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined },
  });
}

/** Runs `work`, and repeats it while it does not get the lock of a table. */
async function untilUnlocked(client: pg.Client, work: () => Promise<void>): Promise<void> {
  await client.query(`SET lock_timeout = ${lockTimeout}`);
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      if (!isLockTimeout(error)) throw error;
      if (attempt === lockAttempts)
        throw new MigrationError(
          'The database cannot be migrated: a table that must be changed is constantly in use. End long transactions, then start again.',
          { cause: error },
        );
      await delay(lockPause * (0.5 + Math.random()));
    }
  }
}

/** SQLSTATE 55P03, lock_not_available. */
function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '55P03';
}
