// Runs several processes behind one port: they start and stop together, and one that crashes is restarted while the others answer.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { freePort, postmasterOf, startServer, stopServers, workersOf } from '../helpers/server-process.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';

// each test starts several processes, and the second one a database
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-workers-'));
let service: TestService | undefined;
afterEach(async () => {
  await stopServers();
  await service?.stop();
  service = undefined;
  rmSync(folder, { recursive: true, force: true });
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(20);
}

/** Sends each request on a new connection, so that every worker gets some. */
const ask = (url: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
  fetch(url, { ...init, headers: { connection: 'close', ...init.headers } });

test('WORKERS processes share the port, their metrics are summed up, and SIGTERM ends all of them (decisions 8)', async () => {
  service = await startTestService();
  const watcher = await service.createClient({
    grant_types: ['client_credentials'],
    redirect_uris: [],
    scope: 'metrics',
  });
  const port = await freePort();
  const server = startServer({
    DATABASE_URL: service.database.url,
    SECRET_KEY: service.secretKey,
    BASE_URL: service.issuer,
    PORT: String(port),
    WORKERS: '2',
  });
  await server.ready();
  await until(() => server.stderr.match(/"Gatehouse is ready"/g)?.length === 2);
  expect(server.stdout.match(/Gatehouse is ready/g)).toHaveLength(1);
  const { body } = await tokenRequest(server.address, watcher, { grant_type: 'client_credentials', scope: 'metrics' });
  const authorization = `Bearer ${String(body['access_token'])}`;
  for (let count = 0; count < 10; count++) expect((await ask(`${server.address}/jwks`)).status).toBe(200);
  const workers = workersOf(server.pid);
  expect(workers).toHaveLength(2);
  // any worker may answer
  for (let count = 0; count < 4; count++) {
    const text = await (await ask(`${server.address}/metrics`, { headers: { authorization } })).text();
    expect(text).toMatch(/_duration_seconds_count\{method="GET",route="\/jwks",status="200"\} 10\n/);
  }
  server.kill('SIGTERM');
  expect(await server.exited).toEqual({ code: 0, signal: null });
  for (const pid of workers) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});

test('a worker that crashes is restarted while the others serve, on the same embedded database (decisions 8)', async () => {
  const dataDir = join(folder, 'data');
  const port = await freePort();
  const server = startServer({ DATA_DIR: dataDir, PORT: String(port), WORKERS: '2' });
  await server.ready();
  await until(() => workersOf(server.pid).length === 2);
  await until(() => server.stderr.match(/"Gatehouse is ready"/g)?.length === 2);
  const postmaster = postmasterOf(dataDir);
  const [first, second] = workersOf(server.pid);
  process.kill(first!, 'SIGKILL');
  await until(() => server.stderr.includes('a worker exited'));
  expect((await ask(`${server.issuer}/health/ready`)).status).toBe(200);
  await until(() => server.stderr.match(/"Gatehouse is ready"/g)?.length === 3);
  const workers = workersOf(server.pid);
  expect(workers).toHaveLength(2);
  expect(workers).toContain(second);
  expect(workers).not.toContain(first);
  expect(postmasterOf(dataDir)).toBe(postmaster);
  // the first administrator's password is printed once
  expect(server.stdout.match(/password {3}\S{24}\n/g)).toHaveLength(1);
  server.kill('SIGTERM');
  expect(await server.exited).toEqual({ code: 0, signal: null });
  expect(postmasterOf(dataDir)).toBeUndefined();
});

test('an error in the settings is printed once, and ends all processes (decisions section 8)', async () => {
  service = await startTestService();
  const settings = {
    DATABASE_URL: service.database.url,
    SECRET_KEY: service.secretKey,
    BASE_URL: service.issuer,
    HOST: '192.0.2.1',
    WORKERS: '2',
  };
  const misplaced = startServer({ ...settings, PORT: '0' });
  expect(await misplaced.exited).toEqual({ code: 1, signal: null });
  const complaint = misplaced.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
  expect(complaint).toEqual([expect.stringContaining('HOST')]);
  expect(misplaced.stdout).toBe('');
});
