// Adopts a database at the last migration before the baseline, so that it continues at the baseline.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { MigrationError } from './migration-error.ts';

/** The first migration that a database from before the baseline has: the second one is that of an earlier baseline. */
const firstMigrations = ['0001_clients', '0101_users'];
const lastMigration = '0234_sessions_of_unasked_links';
/** Later migrations run on an adopted database as on any other. */
const lastOfBaseline = '0128_instances';
/** Milliseconds within which an older instance opens its listening connection again. */
const reconnection = 3_000;

interface Adoption {
  directory: string;
  /** The names of all files, in order. */
  files: string[];
  /** The names of the migrations that have run. */
  known: string[];
}

/** @param known the names of the migrations that have run */
export function isBeforeBaseline(known: string[]): boolean {
  return firstMigrations.includes(known[0]!) && !known.includes(lastOfBaseline);
}

/**
 * Called in a transaction that holds the migration lock. It changes the tables; the functions follow, as after every migration. The order of columns stays
 * as it is: an adopted database differs in it from a new one, and in nothing else.
 * @throws MigrationError when the database is at another migration, or an older instance is connected
 */
export async function adopt(client: pg.ClientBase, { directory, files, known }: Adoption): Promise<void> {
  const last = known.at(-1)!;
  if (last < lastMigration)
    throw new MigrationError(
      `The database is at the migration ${last}: first start the version whose last migration is ${lastMigration} (commit f7be2423), stop it, then start this one.`,
    );
  if (last > lastMigration)
    throw new MigrationError(
      `The database has the migration ${last}, which is unknown to this version: start the newer version.`,
    );
  await refuseOlderInstances(client);
  // an instance whose listening connection broke just now opens another one
  await delay(reconnection);
  await refuseOlderInstances(client);
  await client.query(await readFile(join(directory, 'adoption.sql'), 'utf8'));
  await client.query('DELETE FROM migrations');
  await client.query('INSERT INTO migrations (name, run_on) SELECT unnest($1::text[]), now()', [
    files.filter((name) => name <= lastOfBaseline),
  ]);
}

/** An instance of an older version is recognised by the name of its listening connection, which it holds for as long as it serves. */
async function refuseOlderInstances(client: pg.ClientBase): Promise<void> {
  // within a transaction PostgreSQL shows the activity as it was at the first look
  await client.query('SELECT pg_stat_clear_snapshot()');
  const { rows } = await client.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'gatehouse listener%' LIMIT 1`,
  );
  if (rows.length > 0)
    throw new MigrationError(
      'An instance of the previous version is connected to the database: stop all of them, then start this version again.',
    );
}
