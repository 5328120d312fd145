// Starts the service as the image does, without a container: at all addresses, with the health check of the image and without any folder.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { freePort, type ServerProcess, startServer, stopServers, surroundings } from '../helpers/server-process.ts';

const root = resolve(import.meta.dirname, '../..');
const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');
/** The command of the image's health check. */
const check = JSON.parse(/^HEALTHCHECK .*?CMD (\[.*\])$/m.exec(dockerfile)![1]!) as string[];

let folder: string;
let database: TestDatabase;
let server: ServerProcess;
let settings: Record<string, string>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-container-'));
  database = await createTestDatabase();
  const port = await freePort();
  const image = Object.fromEntries(
    [.../^ENV (.*)$/m.exec(dockerfile)![1]!.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name!, value!]),
  );
  settings = {
    ...image,
    DATA_DIR: join(folder, 'data'),
    PORT: String(port),
    BASE_URL: `http://localhost:${port}/idp`,
    TRUST_PROXY: '127.0.0.1',
  };
  server = startServer({
    ...settings,
    DATABASE_URL: database.url,
    SECRET_KEY: randomBytes(32).toString('base64url'),
    ADMIN_PASSWORD: randomBytes(16).toString('hex'),
  });
  await server.ready();
});
afterAll(async () => {
  await stopServers();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** The exit code of the health check under these settings. */
async function health(changed: Record<string, string> = {}): Promise<number> {
  const [program = '', ...args] = check;
  const child = spawn(program, args, { cwd: root, env: { ...surroundings, ...settings, ...changed }, stdio: 'ignore' });
  const [code] = (await once(child, 'close')) as [number];
  return code;
}

test('the image listens at the addresses of both families, and its health check asks where HOST and PORT say (delivery 4)', async () => {
  expect(settings['HOST']).toBe('::');
  for (const host of ['127.0.0.1', '[::1]'])
    expect((await fetch(`http://${host}:${server.port}/idp/health/ready`)).status, host).toBe(200);
  const hosts = ['::', '0.0.0.0', '127.0.0.1', '::1', 'localhost', ''];
  expect(await Promise.all(hosts.map((HOST) => health({ HOST })))).toEqual(hosts.map(() => 0));
  const elsewhere: Record<string, string>[] = [
    { PORT: String(await freePort()) },
    { HOST: '127.0.0.2.invalid' },
    { BASE_URL: 'http://localhost' },
  ];
  expect(await Promise.all(elsewhere.map((changed) => health(changed)))).toEqual([1, 1, 1]);
});

test('a listener of both families knows a proxy by its address of IPv4, and records such addresses without a prefix (security R65)', async () => {
  const register = (headers: Record<string, string>) =>
    new Promise<number>((done, failed) => {
      const sent = request(
        { host: '127.0.0.1', port: server.port, path: '/idp/register', method: 'POST', headers },
        (answer) => done(answer.resume().statusCode!),
      );
      sent.on('error', failed).end(JSON.stringify({ redirect_uris: ['https://app.example/callback'] }));
    });
  const json = { 'content-type': 'application/json' };
  expect(await register({ ...json, 'x-forwarded-for': '192.0.2.7' })).toBe(201);
  expect(await register(json)).toBe(201);
  const rows = await database.sql<{ address: string }>(
    `SELECT address FROM audit_events WHERE type = 'client.registered' ORDER BY id`,
  );
  expect(rows.map(({ address }) => address)).toEqual(['192.0.2.7', '127.0.0.1']);
});

test('with DATABASE_URL the service makes no folder (delivery 4)', () => {
  expect(existsSync(settings['DATA_DIR']!)).toBe(false);
});
