// Checks how the process starts and stops: wrong settings, a taken port, several instances at once, and a graceful end.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest';
import { dropDatabase } from '../helpers/database.ts';
import { execute } from '../helpers/global-setup.ts';
import { freePort, postmasterOf, type ServerProcess, startServer, stopServers } from '../helpers/server-process.ts';
import { startTestService } from '../helpers/service.ts';
import { hiddenFields, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

const secretKey = randomBytes(32).toString('base64url');
const noServer = 'postgresql://gatehouse:a-secret-word@127.0.0.1:1/gatehouse';

let folder: string;
let cleanUps: (() => Promise<void>)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-start-'));
});
afterEach(async () => {
  await stopServers();
  for (const cleanUp of cleanUps) await cleanUp();
  cleanUps = [];
  rmSync(folder, { recursive: true, force: true });
});

/** Creates an empty database on the tests' server. */
async function emptyDatabase(): Promise<{
  url: string;
  query<R extends pg.QueryResultRow>(sql: string): Promise<R[]>;
}> {
  const server = inject('postgres');
  const database = `test_${randomBytes(6).toString('hex')}`;
  await execute({ ...server, database: 'postgres' }, `CREATE DATABASE ${database} ENCODING 'UTF8' TEMPLATE template0`);
  cleanUps.push(() => dropDatabase(database));
  return {
    url: `postgresql://${server.user}@/${database}?host=${encodeURIComponent(server.host)}&port=${server.port}`,
    async query<R extends pg.QueryResultRow>(sql: string) {
      const client = new pg.Client({ ...server, database });
      await client.connect();
      try {
        return (await client.query<R>(sql)).rows;
      } finally {
        await client.end();
      }
    },
  };
}

/** The lines that the process printed besides its log. */
function complaint(server: ServerProcess): string[] {
  return server.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
}

const isUp = async ({ address }: ServerProcess) => (await fetch(`${address}/health/ready`)).status === 200;
/** Instances that share a database have the same issuer. */
const shared = { BASE_URL: 'https://id.example.com' };

test.each<[string, Record<string, string>, string[]]>([
  ['PORT', { PORT: 'http' }, []],
  ['PORT', { PORT: '70000' }, []],
  ['BASE_URL', { BASE_URL: 'http://idp.example.com' }, []],
  ['LOG_LEVEL', { LOG_LEVEL: 'loud' }, []],
  ['TRUST_PROXY', { TRUST_PROXY: 'my-proxy' }, []],
  ['ACCESS_TOKEN_LIFETIME', { ACCESS_TOKEN_LIFETIME: '10m' }, []],
  ['ADMIN_PASSWORD', { ADMIN_PASSWORD: 'too-short' }, ['too-short']],
  ['SECRET_KEY', { SECRET_KEY: 'bm90IDMyIGJ5dGVz' }, ['bm90IDMyIGJ5dGVz']],
  ['SECRET_KEY', { DATABASE_URL: noServer }, ['a-secret-word']],
  [
    'DATABASE_URL',
    { DATABASE_URL: 'mysql://gatehouse:a-secret-word@localhost/x', SECRET_KEY: secretKey },
    ['a-secret-word', secretKey],
  ],
  ['DATABASE_URL', { DATABASE_URL: noServer, DATABASE_WAIT: '0', SECRET_KEY: secretKey }, ['a-secret-word', secretKey]],
  [
    'DATABASE_URL',
    { DATABASE_URL: noServer.replace(':1/', ':port/'), SECRET_KEY: secretKey },
    ['a-secret-word', secretKey],
  ],
])(
  'a wrong %s stops the start with one sentence that names it (decisions section 8)',
  async (name, settings, secrets) => {
    const server = startServer({ DATA_DIR: join(folder, 'data'), ...settings });
    expect(await server.exited).toEqual({ code: 1, signal: null });
    expect(server.stdout).toBe('');
    expect(complaint(server)).toEqual([expect.stringMatching(new RegExp(`^The .*\\b${name}\\b.*\\.$`))]);
    for (const secret of secrets) expect(server.stderr).not.toContain(secret);
    expect(existsSync(join(folder, 'data'))).toBe(false);
  },
);

test('the start names a DATA_DIR that is a file or that the system does not make, and a HOST that this machine does not have (decisions section 8)', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const misplaced = startServer({ DATA_DIR: file, PORT: '0' });
  // the system refuses a folder there as if one above it were missing
  const refused = startServer({ DATA_DIR: '/proc/none/data', PORT: '0' });
  const database = await emptyDatabase();
  const foreignHost = startServer({ DATABASE_URL: database.url, SECRET_KEY: secretKey, HOST: '192.0.2.1', PORT: '0' });
  expect(await misplaced.exited).toEqual({ code: 1, signal: null });
  expect(complaint(misplaced)).toEqual([expect.stringContaining('DATA_DIR')]);
  expect(await refused.exited).toEqual({ code: 1, signal: null });
  expect(complaint(refused)).toEqual([expect.stringMatching(/^The setting DATA_DIR .*: name a folder .*\.$/)]);
  expect(await foreignHost.exited).toEqual({ code: 1, signal: null });
  expect(complaint(foreignHost)).toEqual([expect.stringContaining('HOST')]);
});

test.each([
  ['TEMPLATES_DIR', () => join(folder, 'nowhere')],
  ['TEMPLATES_DIR', () => newFile('templates-file', '')],
  ['TEMPLATES_DIR', () => newFolder('messages/en.json', '{')],
  ['TEMPLATES_DIR', () => newFolder('login.eta', '<% broken(')],
  ['TEMPLATES_DIR', () => newFolder('login.eta', '<%= it.nothing.there %>')],
  ['HOST', () => 'fe80::1'],
  ['ADMIN_USERNAME', () => '0b0e1f6a-1111-4222-8333-944455556666'],
])('a wrong %s ends the start with one sentence that names the setting (reports B5)', async (name, value) => {
  const database = await emptyDatabase();
  const settings = { DATABASE_URL: database.url, SECRET_KEY: secretKey, PORT: '0', [name]: value() };
  const refused = startServer(settings);
  expect(await refused.exited).toEqual({ code: 1, signal: null });
  expect(complaint(refused)).toEqual([expect.stringMatching(`^The setting ${name} (is wrong: |must not )`)]);
});

function newFile(name: string, text: string): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** A folder of an operator's templates with one file. */
function newFolder(name: string, text: string): string {
  const made = mkdtempSync(join(folder, 'templates-'));
  newFile(join(basename(made), name), text);
  return made;
}

test('a taken port stops the start with one line, and the first password is not lost (decisions section 8)', async () => {
  const database = await emptyDatabase();
  const other = createServer().listen(0, 'localhost');
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  const settings = { DATABASE_URL: database.url, SECRET_KEY: secretKey };
  const refused = startServer({ ...settings, PORT: String(port) });
  expect(await refused.exited).toEqual({ code: 1, signal: null });
  other.close();
  expect(refused.stdout).toBe('');
  expect(complaint(refused)).toEqual([expect.stringMatching(new RegExp(`\\b${port}\\b.*PORT`))]);
  const server = startServer({ ...settings, PORT: String(await freePort()) });
  await server.ready();
  expect(server.stdout).toMatch(/user name {2}admin\n +password {3}\S{24}\n/);
});

test('a service with DATABASE_URL uses that server and starts none (decisions section 8)', async () => {
  const database = await emptyDatabase();
  const dataDir = join(folder, 'data');
  const port = await freePort();
  const server = startServer({
    DATABASE_URL: database.url,
    SECRET_KEY: secretKey,
    DATA_DIR: dataDir,
    PORT: String(port),
  });
  await server.ready();
  expect(server.stdout).not.toContain('psql');
  const discovery = await fetch(`${server.issuer}/.well-known/openid-configuration`);
  expect(await discovery.json()).toMatchObject({ issuer: `http://localhost:${port}` });
  expect(await isUp(server)).toBe(true);
  expect(existsSync(dataDir)).toBe(false);
});

test('after SIGTERM the service answers the requests in progress, accepts no new ones, and exits with 0 (decisions section 8)', async () => {
  const service = await startTestService();
  cleanUps.push(() => service.stop());
  const client = await service.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
  const settings = { DATABASE_URL: service.database.url, SECRET_KEY: service.secretKey, BASE_URL: service.issuer };
  const server = startServer({ ...settings, PORT: String(await freePort()) });
  await server.ready();
  const locker = new pg.Client(service.database.connection);
  await locker.connect();
  await locker.query('BEGIN');
  await locker.query('LOCK TABLE access_tokens IN EXCLUSIVE MODE');
  const answer = tokenRequest(server.address, client, { grant_type: 'client_credentials' });
  const waiting = `SELECT count(*)::int AS count FROM pg_locks WHERE NOT granted AND relation = 'access_tokens'::regclass`;
  for (let count = 0; count === 0; await delay(10)) {
    count = (await service.database.sql<{ count: number }>(waiting))[0]!.count;
  }
  server.kill('SIGTERM');
  const refused = () =>
    fetch(`${server.address}/jwks`, { headers: { connection: 'close' } }).then(
      (got) => got.status === 503,
      () => true,
    );
  while (!(await refused())) await delay(10);
  await locker.query('COMMIT');
  await locker.end();
  const answered = performance.now();
  expect(await answer).toMatchObject({ status: 200, body: { token_type: 'Bearer' } });
  expect(await server.exited).toEqual({ code: 0, signal: null });
  // the client keeps its connection alive, which does not keep the process from ending
  expect(performance.now() - answered).toBeLessThan(10_000);
  expect(complaint(server)).toEqual([]);
});

test('SIGTERM during the start ends the process and its database gracefully (decisions section 8)', async () => {
  const dataDir = join(folder, 'data');
  const server = startServer({ DATA_DIR: dataDir, PORT: String(await freePort()) });
  const ended = server.exited.then(() => true);
  while (postmasterOf(dataDir) === undefined) {
    if (await Promise.race([ended, delay(5, false)])) throw new Error(`the server ended: ${server.stderr}`);
  }
  server.kill('SIGTERM');
  expect(await server.exited).toEqual({ code: 0, signal: null });
  expect(postmasterOf(dataDir)).toBeUndefined();
});

test('instances that start at once on an empty database create one schema, one key set and one administrator (decisions section 8, security R92, R95)', async () => {
  const database = await emptyDatabase();
  const servers = await Promise.all(
    Array.from({ length: 3 }, async () =>
      startServer({ ...shared, DATABASE_URL: database.url, SECRET_KEY: secretKey, PORT: String(await freePort()) }),
    ),
  );
  await Promise.all(servers.map((server) => server.ready()));
  expect(servers.filter((server) => /"msg":"\d+ migrations applied"/.test(server.stderr)).length).toBe(1);
  expect(servers.filter((server) => /password {3}\S{24}\n/.test(server.stdout)).length).toBe(1);
  // the log arrives on another stream than the line that says ready
  const lines = () => servers.flatMap((server) => server.stderr.split('\n').slice(0, -1));
  await vi.waitUntil(() => lines().some((line) => line.includes('"user.created"')), { timeout: 10_000, interval: 10 });
  const made = lines().filter((line) => line.includes('"user.created"'));
  expect(made.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { event: 'user.created', outcome: 'success', actor: 'service', detail: { admin: true } },
  ]);
  expect(await database.query('SELECT name FROM migrations GROUP BY name HAVING count(*) > 1')).toEqual([]);
  expect(await database.query('SELECT username FROM users')).toEqual([{ username: 'admin' }]);
  expect(await database.query(`SELECT count(*)::int FROM audit_events WHERE type = 'user.created'`)).toEqual([
    { count: 1 },
  ]);
  expect(await database.query('SELECT alg FROM signing_keys ORDER BY alg')).toEqual(
    ['ES256', 'EdDSA', 'PS256', 'RS256'].map((alg) => ({ alg })),
  );
  const sets = await Promise.all(servers.map(async (server) => (await fetch(`${server.address}/jwks`)).text()));
  expect(new Set(sets).size).toBe(1);
});

/** Locks the table of users, so that the start creates its administrator only after the release. */
async function lockedUsers() {
  const service = await startTestService();
  const locker = new pg.Client(service.database.connection);
  await locker.connect();
  cleanUps.push(
    () => locker.end(),
    () => service.stop(),
  );
  await locker.query('BEGIN');
  await locker.query('LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE');
  return {
    service,
    settings: {
      DATABASE_URL: service.database.url,
      SECRET_KEY: service.secretKey,
      BASE_URL: service.issuer,
      LOG_LEVEL: 'info',
    },
    /** Waits until this number of starts wait for the lock. */
    async waitedFor(starts: number) {
      const waiting = `SELECT count(*)::int AS count FROM pg_locks WHERE NOT granted AND relation = 'users'::regclass`;
      const count = async () => (await service.database.sql<{ count: number }>(waiting))[0]!.count;
      await vi.waitUntil(async () => (await count()) === starts, { timeout: 20_000, interval: 10 });
    },
    letGo: () => locker.query('COMMIT'),
  };
}

test('a start with ADMIN_PASSWORD lets no request in before its administrator can sign in, on each of several instances (decisions section 8)', async () => {
  const { settings, service, waitedFor, letGo } = await lockedUsers();
  const password = 'correct horse battery staple';
  const servers: ServerProcess[] = [];
  let isOver = false;
  /** Starts it again, as a supervisor does, if the lock let it wait longer than a statement may. */
  async function supervise(index: number, port: number): Promise<void> {
    while (!isOver) {
      servers[index] = startServer({ ...settings, ADMIN_PASSWORD: password, PORT: String(port) });
      await servers[index].exited;
    }
  }
  const ports = [await freePort(), await freePort()];
  const supervised = ports.map((port, index) => supervise(index, port));
  await waitedFor(ports.length);
  for (const server of servers) await expect(isUp(server)).rejects.toThrow('fetch failed');
  await letGo();
  for (const index of ports.keys()) {
    const ready = () => isUp(servers[index]!).catch(() => false);
    await vi.waitUntil(ready, { timeout: 20_000, interval: 1 });
    const agent = new UserAgent({ issuer: service.issuer });
    const login = `http://localhost:${servers[index]!.port}/login`;
    const fields = hiddenFields((await agent.get(login)).body);
    const end = await agent.post(login, { ...fields, username: 'admin', password });
    expect(end.status, end.body).toBe(303);
  }
  isOver = true;
  for (const server of servers) server.kill('SIGTERM');
  await Promise.all(supervised);
  expect(await service.database.sql('SELECT username FROM users')).toEqual([{ username: 'admin' }]);
});

test('a start that generates the first password is alive, but not ready, until its administrator exists (decisions section 8)', async () => {
  const { settings, waitedFor, letGo } = await lockedUsers();
  const server = startServer({ ...settings, PORT: String(await freePort()) });
  await waitedFor(1);
  expect((await fetch(`${server.address}/health/live`)).status).toBe(200);
  const ready = await fetch(`${server.address}/health/ready`);
  expect([ready.status, await ready.json()]).toEqual([503, { status: 'down' }]);
  await letGo();
  await server.ready();
  expect(await isUp(server)).toBe(true);
});

test('two services share one DATA_DIR, in any order of starts and stops (decisions section 8)', async () => {
  const dataDir = join(folder, 'data');
  const settings = { ...shared, DATA_DIR: dataDir, ADMIN_PASSWORD: 'correct horse battery' };
  const first = startServer({ ...settings, PORT: String(await freePort()) });
  // the second starts while the first still creates the cluster
  const second = startServer({ ...settings, PORT: String(await freePort()) });
  await Promise.all([first.ready(), second.ready()]);
  const postmaster = postmasterOf(dataDir);
  expect(postmaster).toBeDefined();
  const third = startServer({ ...settings, PORT: String(await freePort()) });
  await third.ready();
  for (const leaving of [first, third]) {
    leaving.kill('SIGTERM');
    expect(await leaving.exited).toEqual({ code: 0, signal: null });
    expect(await isUp(second)).toBe(true);
    expect(postmasterOf(dataDir)).toBe(postmaster);
  }
  second.kill('SIGTERM');
  expect(await second.exited).toEqual({ code: 0, signal: null });
  expect(postmasterOf(dataDir)).toBeUndefined();
});
