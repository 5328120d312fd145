// Starts a second service on the database of the first one: under another BASE_URL it refuses, and changes nothing.
import { spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { patience } from '../helpers/limits.ts';
import {
  freePort,
  isServer,
  type ServerProcess,
  startServer,
  stopServers,
  surroundings,
  workersOf,
} from '../helpers/server-process.ts';

const secretKey = randomBytes(32).toString('base64url');
const home = 'https://id.home.test';
let folder: string;
let database: TestDatabase;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-second-'));
  database = await createTestDatabase();
});
afterEach(async () => {
  await stopServers();
});
afterAll(async () => {
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

const startHere = async (settings: Record<string, string> = {}) =>
  startServer({ DATABASE_URL: database.url, SECRET_KEY: secretKey, PORT: String(await freePort()), ...settings });
const isUp = async ({ port }: ServerProcess) => (await fetch(`http://localhost:${port}/health/ready`)).status === 200;
/** The one line that a start prints besides its log. */
const complaint = ({ stderr }: ServerProcess) => stderr.split('\n').filter((line) => line !== '' && line[0] !== '{');
const refusal = (other: string) =>
  expect.stringMatching(
    new RegExp(
      `^Gatehouse runs at ${other.replaceAll('.', '\\.')} on this database.*Stop it first.*DATABASE_URL or DATA_DIR`,
    ),
  ) as string;

async function invitation(environment: Record<string, string> = {}): Promise<string> {
  const place = { issuer: '', database, secretKey };
  const { stdout } = await runCommand(place, ['user', 'invite', `user-${randomBytes(4).toString('hex')}`], {
    environment,
  });
  return /https?:\/\/\S+(?=\/invitation)/.exec(stdout)![0];
}

test('a start under another BASE_URL refuses with one line while an instance runs, and links keep the address of that one (delivery D1)', async () => {
  const first = await startHere({ BASE_URL: home });
  await first.ready();
  expect(first.stdout).not.toContain('npm run demo');
  const second = await startHere();
  expect(await second.exited).toEqual({ code: 1, signal: null });
  expect(complaint(second)).toEqual([refusal(home)]);
  expect(second.stdout).toBe('');
  expect(await isUp(first)).toBe(true);
  expect(await invitation()).toBe(home);
  expect(await database.sql('SELECT FROM instances')).toHaveLength(1);
  // an older version that was started by mistake has written its address, without a look at the instances
  const mistaken = 'https://mistaken.test';
  await database.sql(`UPDATE service_settings SET settings = settings || $1`, [{ BASE_URL: mistaken }]);
  const third = await startHere({ BASE_URL: mistaken });
  expect(await third.exited).toEqual({ code: 1, signal: null });
  expect(complaint(third)).toEqual([refusal(home)]);
  // an instance of the same service joins, and its end changes nothing either
  const sibling = await startHere({ BASE_URL: home });
  await sibling.ready();
  sibling.kill('SIGTERM');
  await sibling.exited;
  expect(await invitation()).toBe(home);
  // a stopped one counts no longer, and neither does one that was killed before the clock of the database went back
  first.kill('SIGTERM');
  await first.exited;
  await database.sql(
    `INSERT INTO instances (id, secret_key_id, seen_at, settings) VALUES ($1, '0123456789abcdef', now() + interval '1 hour', $2)`,
    [randomUUID(), { BASE_URL: home }],
  );
  const next = await startHere();
  await next.ready();
  expect(next.stdout).toContain('npm run demo');
  expect(await invitation()).toBe(next.issuer);
});

test('of two first starts at once under two addresses one refuses, and an instance without a heartbeat does not count: the doctor names both addresses then (delivery D1)', async () => {
  await database.sql('DELETE FROM service_settings');
  const servers = [await startHere(), await startHere()];
  const ends = await Promise.all(
    servers.map((server) =>
      server.ready().then(
        () => server,
        () => undefined,
      ),
    ),
  );
  const [first] = ends.filter((server) => server !== undefined);
  expect(ends.filter((server) => server === undefined)).toHaveLength(1);
  const refused = servers.find((server) => server !== first)!;
  expect(complaint(refused)).toEqual([refusal(first!.issuer)]);
  await database.sql(`UPDATE instances SET seen_at = now() - interval '101 seconds'`);
  const second = await startHere();
  await second.ready();
  const place = { issuer: first!.issuer, database, secretKey };
  const { stdout, code } = await runCommand(place, ['doctor']);
  expect(stdout).toMatch(new RegExp(`^fault +instances .*at ${second.issuer} and at ${first!.issuer}`, 'm'));
  expect(code).toBe(2);
});

test('with the embedded database a killed instance does not stop the next start under another address (delivery D1)', async () => {
  const settings = { DATA_DIR: join(folder, 'data'), DATABASE_URL: '', SECRET_KEY: '' };
  const first = await startHere({ ...settings, BASE_URL: home });
  await first.ready();
  const refused = await startHere(settings);
  expect(await refused.exited).toEqual({ code: 1, signal: null });
  expect(complaint(refused)).toEqual([refusal(home)]);
  // the demonstration refuses alike, before it makes users and clients
  const demo = spawnSync(process.execPath, ['demo/demo.ts'], {
    env: { ...surroundings, DATA_DIR: settings.DATA_DIR, PORT: String(await freePort()) },
    encoding: 'utf8',
  });
  expect([demo.status, demo.stdout, demo.stderr.trim()]).toEqual([1, '', refusal(home)]);
  expect(await isUp(first)).toBe(true);
  first.kill('SIGKILL');
  await first.exited;
  const next = await startHere(settings);
  await next.ready();
});

test('nor does a killed one with WORKERS above 1, whose first process keeps the embedded server (delivery D1)', async () => {
  const settings = { DATA_DIR: join(folder, 'data-of-workers'), DATABASE_URL: '', SECRET_KEY: '', WORKERS: '2' };
  const first = await startHere({ ...settings, BASE_URL: home });
  await first.ready();
  const workers = workersOf(first.pid);
  first.kill('SIGKILL');
  await first.exited;
  for (const worker of workers) await vi.waitUntil(() => !isServer(worker), { timeout: patience, interval: 20 });
  const next = await startHere(settings);
  await next.ready();
  // both of its workers, of which the second one has the rows of the first one before it
  await vi.waitUntil(() => next.stderr.match(/"Gatehouse is ready"/g)?.length === 2, {
    timeout: patience,
    interval: 20,
  });
  expect(await isUp(next)).toBe(true);
});
