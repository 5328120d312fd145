// Starts a service on a PostgreSQL server of its own for a measurement, and ends both with their temporary folder.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, startService } from './children.ts';
import { type Postgres, startPostgres } from './postgres.ts';

export interface Bed {
  service: Child;
  /** The environment with which the service was started: commands take the same. */
  settings: Record<string, string> & { DATABASE_URL: string };
  connection: Postgres['connection'];
  /** The address for the server's superuser, who may change its settings. */
  superuser: Postgres['connection'];
  /** The PostgreSQL server's log. */
  log: string;
  /** The id of the PostgreSQL server, where options.database gave it settings. */
  databasePid: number | undefined;
  /** Temporary; it is deleted at the end. */
  folder: string;
  /** What else has to end, the last one first. */
  stops: (() => Promise<void>)[];
}

/** Settings of the service under load. */
export const benchSettings = {
  DATABASE_POOL_SIZE: '20',
  ACCESS_TOKEN_LIFETIME: '3600',
  ID_TOKEN_LIFETIME: '3600',
  // a few browsers and one address represent all; the counters work as usual
  LIMIT_CODES_PER_SESSION: '0',
  DEVICE_GRANT: 'on',
  DEVICE_CODE_LIFETIME: '3600',
  LIMIT_SESSIONS_PER_USER: '0',
  LIMIT_INTROSPECTIONS: '1000000000',
  LIMIT_SIGN_IN_PER_NETWORK: '1000000',
  LIMIT_SIGN_IN_FAILURES: '1000000',
  LIMIT_SCIM: '0',
  PASSWORD_HASH_QUEUE: '1000',
};

/** Settings of its database. */
export const databaseSettings = [
  'shared_preload_libraries=pg_stat_statements',
  'shared_buffers=512MB',
  'max_wal_size=8GB',
  'checkpoint_timeout=30min',
  // five servers with full pools, and one more that starts
  'max_connections=200',
];

/**
 * @param own settings besides the address of the database and the secrets
 * @param options.postgres the folder with an installed server's programs; else TEST_POSTGRES_BIN, else the embedded one
 * @param options.database settings of the server
 * @param options.profile a folder for a CPU profile of the service
 * @param options.inspected so that profiles of the service can be taken
 */
export async function withService<Result>(
  own: Record<string, string>,
  work: (bed: Bed) => Promise<Result>,
  options: {
    postgres?: string | undefined;
    database?: string[];
    profile?: string | undefined;
    inspected?: boolean;
  } = {},
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  const stops = [async () => rmSync(folder, { recursive: true, force: true })];
  try {
    const postgres = await startPostgres(
      folder,
      options.postgres ?? process.env['TEST_POSTGRES_BIN'],
      options.database,
    );
    stops.push(() => postgres.stop());
    const { connection, superuser, log } = postgres;
    const { host, port, user, database } = connection;
    const settings = {
      DATABASE_URL: `postgresql://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`,
      SECRET_KEY: randomBytes(32).toString('base64url'),
      ADMIN_PASSWORD: randomUUID(),
      ...own,
    };
    // The first start creates the schema, and Node compiles new code: the memory for both stays allocated.
    await (await startService(folder, settings)).stop();
    const service = await startService(folder, settings, options);
    stops.push(() => service.stop());
    return await work({ service, settings, connection, superuser, log, databasePid: postgres.pid, folder, stops });
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}
