// Connects to a real server with each sslmode, with a certificate of an authority of the test, and where the server has none.
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import {
  type ServiceDatabase,
  migrateOnceReachable,
  openServiceDatabase,
} from '../../src/database/service-database.ts';
import { statement } from '../../src/database/database.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { PostgresServer } from '../helpers/postgres-server.ts';

const logger = pino({ level: 'silent' });
const isEncrypted = statement('test.is_encrypted', 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');

let folder: string;
let server: PostgresServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-tls-'));
  // the server runs as another user, if this process is root
  chmodSync(folder, 0o755);
  server = await PostgresServer.create(join(folder, 'server'));
  for (const name of ['certificates', 'others']) {
    mkdirSync(join(folder, name));
    makeCertificates(join(folder, name));
  }
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function offerTls(): Promise<void> {
  const settings = { ssl_cert_file: 'server.pem', ssl_key_file: 'server.key', ssl: 'on' };
  for (const file of ['server.pem', 'server.key']) {
    const copy = join(folder, 'server/data', file);
    cpSync(join(folder, 'certificates', file), copy);
    if (server.account) chownSync(copy, server.account.uid, server.account.gid);
  }
  for (const [name, value] of Object.entries(settings)) await server.sql(`ALTER SYSTEM SET ${name} = '${value}'`);
  await server.sql('SELECT pg_reload_conf()');
  await expect.poll(async () => server.sql('SHOW ssl')).toEqual([{ ssl: 'on' }]);
}

/** Whether the service's connection is encrypted, or the sentence with which its start ends. */
async function encrypted(parameters: string, host = '127.0.0.1'): Promise<boolean | string> {
  const config = loadConfig({
    DATABASE_URL: `postgresql://gatehouse@${host}:${server.port}/gatehouse${parameters.replaceAll('DIR', folder)}`,
    SECRET_KEY: randomBytes(32).toString('base64url'),
  });
  let connection: ServiceDatabase | undefined;
  try {
    connection = await openServiceDatabase(config, logger);
    await migrateOnceReachable(connection, config, logger);
    return (await connection.database.query<{ ssl: boolean }>(isEncrypted))[0]!.ssl;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await connection?.close();
  }
}

const authority = 'sslrootcert=DIR/certificates/ca.pem';

describe('sslmode means what libpq says (reports B5)', () => {
  test.each([
    ['', false],
    ['?sslmode=disable', false],
    ['?sslmode=allow', false],
    ['?sslmode=prefer', false],
    ['?sslmode=require', /^The database of DATABASE_URL cannot be used: .*SSL/],
  ])('at a server without TLS, %j', async (parameters, expected) => {
    const seen = await encrypted(parameters);
    if (typeof expected === 'boolean') expect(seen).toBe(expected);
    else expect(seen).toMatch(expected);
  });

  test.each<[string, string, boolean | RegExp]>([
    ['', '127.0.0.1', false],
    ['?sslmode=disable', '127.0.0.1', false],
    ['?sslmode=allow', '127.0.0.1', true],
    ['?sslmode=prefer', '127.0.0.1', true],
    ['?sslmode=require', '127.0.0.1', true],
    [`?sslmode=require&${authority}`, '127.0.0.1', true],
    ['?sslmode=require&sslrootcert=DIR/others/ca.pem', '127.0.0.1', /^The database of DATABASE_URL cannot be used: /],
    [`?sslmode=verify-ca&${authority}&application_name=idp`, '127.0.0.1', true],
    [`?sslmode=verify-full&${authority}`, 'localhost', true],
    [`?sslmode=verify-full&${authority}`, '127.0.0.1', /^The database of DATABASE_URL cannot be used: .*127\.0\.0\.1/],
    ['?sslmode=verify-full', 'localhost', /^The database of DATABASE_URL cannot be used: /],
  ])('at a server with a certificate for localhost, %j at %s', async (parameters, host, expected) => {
    if ((await server.sql<{ ssl: string }>('SHOW ssl'))[0]!.ssl !== 'on') await offerTls();
    const seen = await encrypted(parameters, host);
    if (typeof expected === 'boolean') expect(seen).toBe(expected);
    else expect(seen).toMatch(expected);
  });
});
