// Makes databases as the last version before the baseline left them: its migrations and a dump of its rows are fixtures.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { TestClient } from './service.ts';
import type { TestDatabase } from './database.ts';
import { execute } from './global-setup.ts';

const fixtures = join(import.meta.dirname, '../fixtures');
const folder = join(fixtures, 'former-migrations');

/** What the clients and users of the dump hold. */
export const kept = JSON.parse(readFileSync(join(fixtures, 'former-database.json'), 'utf8')) as {
  /** The times in the dump are shifted from here to the present. */
  dumpedAt: string;
  secretKey: string;
  user: { username: string; password: string; sub: string };
  client: Pick<TestClient, 'clientId' | 'basic' | 'redirectUri'>;
  lostClient: { clientId: string; basic: string; refreshToken: string };
  authenticator: { username: string; password: string; key: string };
  jwtClient: { clientId: string; clientSecret: string };
  refreshToken: string;
  accessToken: string;
  sid: string;
  /** By table. */
  rows: Record<string, Record<string, unknown>[]>;
};

/** The text of one of the former migrations. */
export const formerMigration = (name: string) => readFileSync(join(folder, `${name}.sql`), 'utf8');

/**
 * Runs the former migrations, each in a transaction, as the former versions did.
 * @param from the first of them, by the beginning of its name
 * @param before the first of the others
 */
export async function runFormerMigrations(
  database: TestDatabase,
  { from = '0', before = '9' }: { from?: string; before?: string } = {},
): Promise<void> {
  const names = readdirSync(folder)
    .map((file) => file.replace(/\.sql$/, ''))
    .filter((name) => name >= from && name < before)
    .sort();
  await execute(
    database.connection,
    'CREATE TABLE IF NOT EXISTS migrations (id serial PRIMARY KEY, name varchar(255) NOT NULL, run_on timestamp NOT NULL)',
  );
  const transactions = names.map(
    (name) =>
      `BEGIN;\n${formerMigration(name)};\nINSERT INTO migrations (name, run_on) VALUES ('${name}', now());\nCOMMIT;`,
  );
  await execute(database.connection, transactions.join('\n'));
}

/** Fills a database that has the former migrations. @param receiver the host and port where the clients of the dump listen for logout tokens */
export async function fillFormerDatabase(database: TestDatabase, receiver = '127.0.0.1:9'): Promise<void> {
  const shift = Date.now() - Date.parse(kept.dumpedAt);
  const moved = JSON.stringify(kept.rows)
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)/g, (at) =>
      new Date(Date.parse(at) + shift).toISOString(),
    )
    .replaceAll('http://127.0.0.1:9/', `http://${receiver}/`);
  const tables = Object.entries(JSON.parse(moved) as typeof kept.rows);
  await execute(
    // only a superuser may set it
    { ...database.connection, ...(inject('cluster') !== undefined && { user: 'postgres' }) },
    [
      // neither triggers nor foreign keys, so that the order of the tables is free
      'SET session_replication_role = replica',
      ...tables.flatMap(([table, rows]) => {
        const columns = Object.keys(rows[0]!).join(', ');
        return [
          `DELETE FROM ${table}`,
          `INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE
             SELECT ${columns} FROM json_populate_recordset(NULL::${table}, $rows$${JSON.stringify(rows)}$rows$)`,
        ];
      }),
      // numbers go on after those of the dump
      `DO $$ DECLARE one record; BEGIN
         FOR one IN SELECT table_name AS name, pg_get_serial_sequence(table_name, 'id') AS sequence
                      FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'id' AND is_identity = 'YES' LOOP
           EXECUTE format('SELECT setval(%L, (SELECT coalesce(max(id), 0) + 1 FROM %I))', one.sequence, one.name);
         END LOOP;
         PERFORM setval('client_epochs', (SELECT max(epoch) FROM clients));
       END $$`,
    ].join(';\n'),
  );
}
