// Brings the schema up to date with the SQL files of migrations/, under a lock that only one of several instances gets.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { adopt, isBeforeBaseline } from './adoption.ts';
import { installedVersion } from '../config/version.ts';
import { MigrationError } from './migration-error.ts';
import {
  createMissingFunctions,
  presentFunctions,
  readSchemaFunctions,
  type SchemaFunction,
  writeSchemaFunctions,
} from './schema-functions.ts';
import { refuseStandby } from './standby.ts';
import { installStoredFunctions } from './stored-functions.ts';

export { MigrationError };

export interface MigrationOptions {
  directory?: string;
  /** Whether it creates the schema in a database without one. */
  create?: boolean;
  /** The version of this program. */
  version?: string;
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
const mostNamed = 10;

/**
 * Brings the schema up to date, installs the stored functions, and returns the names of the migrations that ran and of the functions that changed. Several instances may call
 * it at once: one works, and the others wait and find nothing to do. Each file is a transaction. The previous version keeps serving, and
 * none of its requests waits longer than a second (security F19). A database from before the baseline is adopted in one transaction, for
 * which the operator stops all older instances.
 * @throws MigrationError when the server is older than PostgreSQL 15, the schema is newer than this version or too old for it, an older
 * instance is connected, or transactions use a table that has to change for minutes without a pause
 */
export async function migrate(
  connection: pg.ClientConfig,
  { directory = folder, create = true, version = installedVersion() }: MigrationOptions = {},
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
    if (before.length === 0 && !create)
      throw new MigrationError(
        'The database has no tables of Gatehouse, so this is not the database of a service. Check DATABASE_URL or DATA_DIR; the start of the service creates the tables, and so does the command migrate.',
      );
    const adopts = isBeforeBaseline(before);
    if (before.length > 0 && !adopts && !before.includes(files[0]!))
      throw foreign('its table migrations is another one');
    if (adopts) await untilUnlocked(client, () => adoptInTransaction(client, { directory, files, known: before }));
    const known = adopts ? await migrationsOf(client) : before;
    const unknown = known.find((name) => !files.includes(name));
    if (unknown !== undefined) {
      throw new MigrationError(
        `The database has the migration ${unknown}, which is unknown to this version: start the newer version.`,
      );
    }
    const pending = files.filter((name) => !known.includes(name));
    const late = known.at(-1);
    const early = pending.find((name) => late !== undefined && name < late);
    if (early !== undefined)
      throw new MigrationError(
        `The database has the migration ${late} without ${early}, so a version in between that was never released made it: start that version, or restore a backup.`,
      );
    const isNew = known.length === 0;
    const functions = await readSchemaFunctions(join(directory, 'functions'));
    if (pending.length > 0) await requireRights(client);
    if (pending.length > 0) await untilUnlocked(client, () => runPending(client, { directory, functions, isNew }));
    const written = await writeSchemaFunctions(client, functions, version);
    await installStoredFunctions(client);
    const changed = isNew || adopts ? [] : written.map((name) => `functions/${name}`);
    return [...(adopts ? known : []), ...pending, ...changed];
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Compares the migrations that have run with those of this version: those to come, and those that only another version knows. */
export async function compareMigrations(known: readonly string[]): Promise<{ pending: string[]; unknown: string[] }> {
  const files = (await readdir(folder)).flatMap((file) => fileName.exec(file)?.[1] ?? []).sort();
  const isOld = isBeforeBaseline([...known]);
  return {
    pending: files.filter((name) => !known.includes(name)),
    unknown: isOld ? [] : known.filter((name) => !files.includes(name)),
  };
}

/** Runs `work` while no other instance migrates or does such work: several instances start at once, and each does it after the other. */
export async function underMigrationLock<T>(connection: pg.ClientConfig, work: () => Promise<T>): Promise<T> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 10_000, application_name: 'gatehouse start' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [lockKey]);
    return await work();
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Says what ran. The names matter to an operator who updates; a new database has them all. */
export function appliedText(names: readonly string[]): string {
  const count = `${names.length} ${names.length === 1 ? 'migration' : 'migrations'} applied`;
  return names.length > mostNamed ? count : `${count}: ${names.join(', ')}`;
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

/** The database, or its schema, is that of another program. @param what in parentheses */
const foreign = (what: string, cause?: unknown) =>
  new MigrationError(
    `The database is in use by another program (${what}): give Gatehouse a database or a schema of its own, by the search_path of its role. Nothing was changed.`,
    { cause },
  );

/** The names of the migrations that have run: none on an empty database. */
async function migrationsOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client
    .query<{ name: string }>('SELECT name FROM migrations ORDER BY id')
    .catch((error: unknown) => {
      if (hasCode(error, '42P01')) return { rows: [] }; // undefined_table
      throw hasCode(error, '42703') ? foreign('its table migrations has other columns', error) : error;
    });
  return rows.map(({ name }) => name);
}

/** Since PostgreSQL 15 only the owner of a database may create in its schema public. @throws MigrationError with the GRANT */
async function requireRights(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ role: string; schema: string | null; may: boolean | null }>(
    `SELECT quote_ident(current_user) AS role, quote_ident(current_schema()) AS schema,
       has_schema_privilege(current_schema(), 'CREATE') AS may`,
  );
  const { role, schema, may } = rows[0]!;
  if (schema === null)
    throw new MigrationError(
      `The role ${role} of the database has no schema: the one that its search_path names does not exist, or the role may not use it. Create it: CREATE SCHEMA name AUTHORIZATION ${role};`,
    );
  if (may !== true)
    throw new MigrationError(
      `The role ${role} may not create tables in the schema ${schema} of the database. The owner of the database can allow it: GRANT CREATE ON SCHEMA ${schema} TO ${role}; or give the role a schema of its own: CREATE SCHEMA gatehouse AUTHORIZATION ${role}; ALTER ROLE ${role} SET search_path = gatehouse;`,
    );
}

async function adoptInTransaction(...[client, adoption]: Parameters<typeof adopt>): Promise<void> {
  await client.query('BEGIN');
  await adopt(client, adoption);
  await client.query('COMMIT');
}

interface Run {
  directory: string;
  functions: readonly SchemaFunction[];
  /** All files are one transaction, so that nothing is left of a start that fails. */
  isNew: boolean;
}

async function runPending(client: pg.Client, { directory, functions, isNew }: Run): Promise<void> {
  // loaded here, since a start without pending migrations does not need it
  const { runner } = await import('node-pg-migrate');
  const { rows } = await client.query<{ schema: string }>('SELECT current_schema() AS schema');
  // the runner begins its transaction only after it has created its table
  if (isNew) await client.query('BEGIN');
  try {
    const [present] = isNew ? await presentFunctions(client, functions) : [];
    if (present !== undefined) throw foreign(`function "${present}" already exists`);
    await createMissingFunctions(client, functions);
    await runner({
      dbClient: client,
      dir: directory,
      ignorePattern: '\\..*|adoption\\.sql|functions',
      direction: 'up',
      migrationsSchema: rows[0]!.schema,
      migrationsTable: 'migrations',
      noLock: true,
      // else each file is a transaction, so that a table is locked only while its own file runs
      singleTransaction: isNew,
      verbose: false,
      logger: { info: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined },
    });
  } catch (error) {
    // a table, an index or a type of that name exists
    if (isNew && error instanceof Error && hasCode(error, '42P07', '42710')) throw foreign(error.message, error);
    throw error;
  }
}

/** Runs `work`, and repeats it while it does not get the lock of a table. */
async function untilUnlocked(client: pg.Client, work: () => Promise<void>): Promise<void> {
  await client.query(`SET lock_timeout = ${lockTimeout}`);
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      if (!hasCode(error, '55P03')) throw error; // lock_not_available
      if (attempt === lockAttempts)
        throw new MigrationError(
          'The database cannot be migrated: a table that must be changed is constantly in use. End long transactions, then start again.',
          { cause: error },
        );
      await delay(lockPause * (0.5 + Math.random()));
    }
  }
}

/** Whether the server sent an error with one of these SQLSTATEs. */
function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof pg.DatabaseError && codes.includes(error.code ?? '');
}
