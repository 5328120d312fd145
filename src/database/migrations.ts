// Runs the plain SQL files of migrations/ forward, under a lock that lets one of several instances do it.
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';

const folder = fileURLToPath(new URL('../../migrations', import.meta.url));
// any constant: the lock's name among all advisory locks of the database
const lockKey = 7_106_342;
const oldestMajor = 15;

/** The database cannot be used as it is; the message says what to do. */
export class MigrationError extends Error {}

/**
 * Brings the schema up to date and returns the names of the migrations that ran.
 * Several instances may call it at once: one works, the others wait and find nothing to do.
 * @throws MigrationError when the server is older than PostgreSQL 15 or the schema is newer than this version
 */
export async function migrate(connection: pg.ClientConfig): Promise<string[]> {
  const client = new pg.Client({
    ...connection,
    connectionTimeoutMillis: 10_000,
    application_name: 'gatehouse migrations',
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
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
    const present = new Set((await readdir(folder)).map((file) => file.replace(/\.sql$/, '')));
    const known = await client
      .query<{ name: string }>(`SELECT name FROM migrations WHERE to_regclass('migrations') IS NOT NULL`)
      .catch(() => ({ rows: [] as { name: string }[] }));
    const unknown = known.rows.find((row) => !present.has(row.name));
    if (unknown) {
      throw new MigrationError(
        `The database has the migration ${unknown.name}, which this version does not know: start the newer version.`,
      );
    }
    const done = await runner({
      dbClient: client,
      dir: folder,
      direction: 'up',
      migrationsTable: 'migrations',
      noLock: true,
      singleTransaction: true,
      verbose: false,
      logger: { info: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined },
    });
    return done.map((migration) => migration.name);
  } finally {
    await client.end().catch(() => undefined);
  }
}
