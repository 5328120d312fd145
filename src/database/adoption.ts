// Adopts a database at the last migration before the baseline, so that it continues at the baseline.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { MigrationError } from './migration-error.ts';

const firstMigration = '0001_clients';
const lastMigration = '0056_refresh_token_lines';
/** Milliseconds within which an older instance opens its listening connection again. */
const reconnection = 3_000;
/** The baseline begins after the migrations of before; later migrations run on an adopted database as on any other. */
const lastOfBaseline = '0125_outbox_triggers';
/** The files of the baseline that run on an adopted database: it already has the tables of the others. */
const isRunAtAdoption = /_(triggers|stored_functions|encryption_at_rest|record_event)$/;

interface Adoption {
  directory: string;
  /** The names of all files, in order. */
  files: string[];
  /** The names of the migrations that have run. */
  known: string[];
  beforeAdoption: ((client: pg.ClientBase) => Promise<void>) | undefined;
}

/** @param known the names of the migrations that have run */
export function isBeforeBaseline(known: string[]): boolean {
  return known[0] === firstMigration;
}

/**
 * Called in a transaction that holds the migration lock.
 * @throws MigrationError when the database is at another migration, or an older instance is connected
 */
export async function adopt(client: pg.ClientBase, adoption: Adoption): Promise<void> {
  const { directory, files, known, beforeAdoption } = adoption;
  const last = known.at(-1)!;
  if (last < lastMigration)
    throw new MigrationError(
      `The database is at the migration ${last}: first start the version whose last migration is ${lastMigration}, stop it, then start this one.`,
    );
  if (last > lastMigration)
    throw new MigrationError(
      `The database has the migration ${last}, which is unknown to this version: start the newer version.`,
    );
  await refuseOlderInstances(client);
  // an instance whose listening connection broke just now opens another one
  await delay(reconnection);
  await refuseOlderInstances(client);
  await beforeAdoption?.(client);
  const run = async (file: string) => client.query(await readFile(join(directory, file), 'utf8'));
  await run('adoption.sql');
  const baseline = files.filter((name) => name > lastMigration && name <= lastOfBaseline);
  for (const name of baseline.filter((each) => isRunAtAdoption.test(each))) await run(`${name}.sql`);
  await client.query('DELETE FROM migrations');
  await client.query('INSERT INTO migrations (name, run_on) SELECT unnest($1::text[]), now()', [baseline]);
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
