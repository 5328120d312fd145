// Creates a database for one test file, cloned from the migrated template.
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';
import { secretsIn, watchFetch } from './dump-search.ts';
import { execute, templateDatabase } from './global-setup.ts';

export interface TestDatabase {
  connection: { host: string; port: number; user: string; database: string };
  /** For programs that take a setting DATABASE_URL. */
  url: string;
  /** Runs any statement, as an administrator with psql would send it. */
  sql<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** @throws Error when the database contains a secret that a test received (security R26) */
  drop(): Promise<void>;
}

/**
 * @param template the database to copy; template0 is empty
 * @param locale of an empty database, other than the server's
 */
export async function createTestDatabase(template = templateDatabase, locale?: 'C'): Promise<TestDatabase> {
  watchFetch();
  const server = inject('postgres');
  const database = `test_${randomBytes(6).toString('hex')}`;
  await execute(
    { ...server, database: 'postgres' },
    // copies files: half the work of copying through the log
    `CREATE DATABASE ${database} TEMPLATE ${template} STRATEGY file_copy ENCODING 'UTF8'${locale === undefined ? '' : ` LOCALE_PROVIDER libc LOCALE '${locale}'`}`,
  );
  const connection = { ...server, database };
  const pool = new pg.Pool({ ...connection, max: 4 });
  pool.on('error', () => undefined);
  return {
    connection,
    url: `postgresql://${server.user}@/${database}?host=${encodeURIComponent(server.host)}&port=${server.port}`,
    async sql<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) {
      return (await pool.query<Row>(text, values)).rows;
    },
    async drop() {
      try {
        const found = await secretsIn(pool);
        if (found.length > 0) throw new Error(`a dump of the database would hold secrets: ${found.join('; ')}`);
      } finally {
        await pool.end();
        await dropDatabase(database);
      }
    },
  };
}

/** Drops a database of the tests' server, together with its connections. */
export async function dropDatabase(database: string): Promise<void> {
  const administration = { ...inject('postgres'), database: 'postgres' };
  for (let attempt = 1; ; attempt++) {
    try {
      return await execute(administration, `DROP DATABASE ${database} WITH (FORCE)`);
    } catch (error) {
      // an autovacuum worker is connected: only superusers may end it, and it ends soon by itself
      if ((error as pg.DatabaseError).code !== '42501' || attempt === 100) throw error;
      await delay(100);
    }
  }
}
