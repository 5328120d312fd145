// The embedded PostgreSQL server starts, stops, is shared by processes and survives kills, with real servers and processes.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
} from 'node:fs';
import { realpathSync, renameSync, rmdirSync, rmSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import { afterAll, afterEach, describe, expect, inject, test, vi } from 'vitest';
import { packageFor } from '../../src/database/embedded/binaries.ts';
import { EmbeddedPostgresError, startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/database/embedded.ts';
import { copyCluster } from '../helpers/global-setup.ts';
import { surroundings } from '../helpers/server-process.ts';
import { takeTurn } from '../helpers/turn.ts';

const NOBODY = 65534;
const SECONDS = 1000;
/** Stands for the folder of the machine to which the programs are copied. */
const sharedFolderPort = 38_964;
const asRoot = process.getuid?.() === 0;
const repository = path.resolve(import.meta.dirname, '../..');
const node = path.join(repository, 'node_modules/.bin/node');

const dataDirs: string[] = [];
/** The folders of `reusableDataDir` that the test uses, and those that earlier tests left intact. */
const inUse: string[] = [];
const spare: string[] = [];
const folders: string[] = [];
const children: ChildProcess[] = [];
const servers: EmbeddedPostgres[] = [];
const clients: pg.Client[] = [];
const log: string[] = [];

afterEach(async ({ task }) => {
  for (const client of clients.splice(0)) await client.end().catch(() => undefined);
  for (const server of servers.splice(0)) await server.stop();
  for (const child of children.splice(0)) await kill(child);
  for (const dataDir of dataDirs.splice(0)) {
    const pid = serverPid(dataDir);
    if (pid !== undefined && isServer(pid)) process.kill(pid, 'SIGKILL');
    if (pid !== undefined) await until(() => !isServer(pid));
  }
  for (const dataDir of inUse.splice(0)) {
    if (task.result?.state === 'fail') continue;
    spare.push(path.join(mkdtempSync(path.join(tmpdir(), 'gatehouse-pg-')), 'data'));
    renameSync(dataDir, spare.at(-1)!);
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  log.length = 0;
});
afterAll(() => {
  for (const dataDir of spare) rmSync(path.dirname(dataDir), { recursive: true, force: true, maxRetries: 5 });
});

/** A temporary folder that only its owner may enter. */
function temporaryFolder(owner?: number): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'gatehouse-pg-'));
  folders.push(folder);
  if (owner !== undefined) chownSync(folder, owner, owner);
  return folder;
}

/** A DATA_DIR that does not exist yet. */
function newDataDir(owner?: number): string {
  const dataDir = path.join(temporaryFolder(owner), 'data');
  dataDirs.push(dataDir);
  return dataDir;
}

/** A DATA_DIR with a cluster, as after the first start. */
function copiedDataDir(): string {
  const dataDir = newDataDir();
  copyCluster(inject('cluster')!, dataDir);
  return dataDir;
}

/** A copied DATA_DIR, or one that an earlier test left intact: a copy takes longer than most of these tests. */
function reusableDataDir(): string {
  const used = spare.pop();
  const dataDir = used === undefined ? copiedDataDir() : newDataDir();
  if (used !== undefined) {
    renameSync(used, dataDir);
    rmdirSync(path.dirname(used));
  }
  inUse.push(dataDir);
  return dataDir;
}

/** Writes a row into the database, and returns a function that checks that the row is there. */
async function keep(connection: pg.ClientConfig): Promise<(connection: pg.ClientConfig) => Promise<void>> {
  const table = `kept_${randomBytes(6).toString('hex')}`;
  await ask(connection, `CREATE TABLE ${table} AS SELECT 42 AS x`);
  return async (later) => expect(await ask(later, `SELECT x FROM ${table}`)).toEqual({ x: 42 });
}

async function start(dataDir: string): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, log: (line) => log.push(line) });
  servers.push(server);
  return server;
}

async function connect(connection: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client({ ...connection, ssl: false });
  client.on('error', () => undefined);
  clients.push(client);
  await client.connect();
  return client;
}

async function ask(connection: pg.ClientConfig, sql: string): Promise<Record<string, unknown>> {
  const client = await connect(connection);
  const { rows } = await client.query<Record<string, unknown>>(sql);
  await client.end();
  return rows[0] ?? {};
}

function socketOf(dataDir: string): pg.ClientConfig {
  return { host: dataDir, port: 5432, user: 'gatehouse', database: 'gatehouse' };
}

/** Another process that uses the server: it takes one command per line, and answers each with one line. */
class User {
  readonly child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  /** @param options.hidden files that this process sees as empty, which takes root */
  constructor(dataDir: string, options: { uid?: number; module?: string; hidden?: string[] } = {}) {
    const { uid, hidden = [], module = path.join(repository, 'src/database/embedded.ts') } = options;
    const code = `
      import { createInterface } from 'node:readline';
      const say = (word) => process.stdout.write(word + '\\n');
      try {
        const { startEmbeddedPostgres } = await import(${JSON.stringify(module)});
        const server = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, log: (line) => console.error(line) });
        say(server.origin);
        for await (const word of createInterface(process.stdin)) { await server[word](); say('done'); if (word === 'stop') break; }
        process.stdin.destroy();
      } catch (error) { say(error.name + ': ' + error.message); process.exitCode = 1; }`;
    const words = [node, '--input-type=module', '-e', code];
    const hide = hidden.map((file) => `mount --bind /dev/null '${file}' && `).join('');
    const as = `exec setpriv --reuid=${uid} --regid=${uid} --clear-groups "$@"`;
    const [program = '', ...args] = hide === '' ? words : ['unshare', '--mount', 'sh', '-c', hide + as, 'sh', ...words];
    this.child = spawn(program, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      cwd: '/',
      env: surroundings,
      ...(uid !== undefined && hide === '' && { uid, gid: uid }),
    });
    children.push(this.child);
    // a process that is killed meanwhile does not read the command
    this.child.stdin!.on('error', () => undefined);
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => log.push(...text.trim().split('\n')));
    this.#lines = createInterface(this.child.stdout!)[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    return done ? `ended without a word: ${log.join(' ')}` : value;
  }

  async tell(word: 'stop' | 'ensureRunning'): Promise<string> {
    this.child.stdin!.write(`${word}\n`);
    return await this.line();
  }

  async kill(): Promise<void> {
    await kill(this.child);
  }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

function serverPid(dataDir: string): number | undefined {
  const file = path.join(dataDir, 'postgres/postmaster.pid');
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : undefined;
}

function isServer(pid: number): boolean {
  return spawnSync('ps', ['-ww', '-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout.includes(
    'cluster_name=gatehouse-',
  );
}

async function until(condition: () => boolean): Promise<void> {
  await vi.waitUntil(condition, { timeout: 30 * SECONDS, interval: 5 });
}

function drafts(dataDir: string): string[] {
  return existsSync(dataDir) ? readdirSync(dataDir).filter((name) => name.startsWith('postgres.initdb-')) : [];
}

/** Returns the message of the error with which a start fails. */
async function refusal(dataDir: string): Promise<string> {
  const error: unknown = await start(dataDir).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(EmbeddedPostgresError);
  return (error as Error).message;
}

describe('a fresh start', () => {
  test('the start makes a private DATA_DIR and a durable UTF-8 cluster with checksums, and listens on no network', async () => {
    const dataDir = newDataDir();
    const server = await start(dataDir);
    expect(server.origin).toBe('started');
    expect(server.connection).toEqual(socketOf(dataDir));
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(statSync(path.join(dataDir, 'postgres')).mode & 0o777).toBe(0o700);
    const socket = statSync(path.join(dataDir, '.s.PGSQL.5432'));
    expect(socket.isSocket()).toBe(true);
    expect(socket.mode & 0o777).toBe(0o700);
    const names = [
      'listen_addresses',
      'fsync',
      'full_page_writes',
      'synchronous_commit',
      'data_checksums',
      'shared_buffers',
      'TimeZone',
    ];
    const settings = await ask(
      server.connection,
      `SELECT ${names.map((name) => `current_setting('${name}') AS "${name}"`).join()}, current_user AS user,
         pg_encoding_to_char(encoding) AS encoding, datlocprovider AS provider, datlocale AS locale
       FROM pg_database WHERE datname = current_database()`,
    );
    expect(settings).toEqual({
      listen_addresses: '',
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      data_checksums: 'on',
      shared_buffers: '64MB',
      TimeZone: 'UTC',
      user: 'gatehouse',
      encoding: 'UTF8',
      provider: 'b',
      locale: 'C.UTF-8',
    });
  });

  test('the role gatehouse creates tables and databases without being a superuser', async () => {
    const server = await start(reusableDataDir());
    const client = await connect(server.connection);
    await client.query('CREATE TABLE t (x int)');
    await client.query('DROP TABLE t');
    await client.query('CREATE DATABASE clone TEMPLATE gatehouse');
    await client.query('DROP DATABASE clone');
    const { rows } = await client.query('SELECT rolsuper FROM pg_roles WHERE rolname = current_user');
    expect(rows).toEqual([{ rolsuper: false }]);
  });

  test('the server keeps its data over a stop and a start', async () => {
    const dataDir = reusableDataDir();
    const first = await start(dataDir);
    const isKept = await keep(first.connection);
    const pid = serverPid(dataDir)!;
    await first.stop();
    await first.stop();
    expect(isServer(pid)).toBe(false);
    expect(serverPid(dataDir)).toBeUndefined();
    const second = await start(dataDir);
    expect(second.origin).toBe('started');
    await isKept(second.connection);
  });

  test('the start makes a new cluster when the data folder was deleted under a running server', async () => {
    const dataDir = copiedDataDir();
    const first = new User(dataDir);
    expect(await first.line()).toBe('started');
    const pid = serverPid(dataDir)!;
    try {
      await first.kill();
      rmSync(dataDir, { recursive: true });
      const second = await start(dataDir);
      expect(second.origin).toBe('started');
      expect(await ask(second.connection, 'SELECT 1 AS x')).toEqual({ x: 1 });
    } finally {
      if (isServer(pid)) process.kill(pid, 'SIGKILL');
    }
  });

  test('the start begins a new log when the old one has grown too long', async () => {
    const dataDir = reusableDataDir();
    const file = path.join(dataDir, 'postgres.log');
    writeFileSync(file, 'x'.repeat(5 * 1024 * 1024));
    await start(dataDir);
    expect(statSync(file).size).toBeLessThan(100_000);
    expect(statSync(`${file}.1`).size).toBe(5 * 1024 * 1024);
    expect(statSync(`${file}.1`).mode & 0o777).toBe(0o600);
  });

  test.runIf(process.platform === 'linux')(
    'the server works in a folder whose path is too long for a socket',
    async () => {
      const dataDir = path.join(newDataDir(), 'deep'.repeat(30), 'deep'.repeat(30));
      dataDirs.push(dataDir);
      const server = await start(dataDir);
      expect(await ask(server.connection, 'SELECT 1 AS x')).toEqual({ x: 1 });
    },
  );
});

describe('several processes on one DATA_DIR', () => {
  test('the processes share one server, which stops with the last process, whichever of them started it', async () => {
    const dataDir = reusableDataDir();
    const first = new User(dataDir);
    expect(await first.line()).toBe('started');
    const pid = serverPid(dataDir)!;
    const second = new User(dataDir);
    expect(await second.line()).toBe('joined');
    expect(serverPid(dataDir)).toBe(pid);
    expect(await first.tell('stop')).toBe('done');
    expect(await ask(socketOf(dataDir), 'SELECT 1 AS x')).toEqual({ x: 1 });
    expect(await second.tell('stop')).toBe('done');
    expect(isServer(pid)).toBe(false);
  });

  test('processes that start at once on an empty folder share one server', async () => {
    const dataDir = newDataDir();
    const users = Array.from({ length: 4 }, () => new User(dataDir));
    const origins = await Promise.all(users.map((user) => user.line()));
    expect(origins.filter((origin) => origin === 'started')).toHaveLength(1);
    expect(origins.filter((origin) => origin === 'joined' || origin === 'adopted')).toHaveLength(3);
    expect(drafts(dataDir)).toEqual([]);
    expect(await ask(socketOf(dataDir), 'SELECT 1 AS x')).toEqual({ x: 1 });
    const pid = serverPid(dataDir)!;
    expect(await Promise.all(users.map((user) => user.tell('stop')))).toEqual(['done', 'done', 'done', 'done']);
    expect(isServer(pid)).toBe(false);
  });

  test('a process that starts while another stops does not fail', async () => {
    const dataDir = reusableDataDir();
    for (let round = 0; round < 10; round++) {
      const leaving = await start(dataDir);
      const [, coming] = await Promise.all([leaving.stop(), start(dataDir)]);
      expect(await ask(coming.connection, 'SELECT 1 AS x')).toEqual({ x: 1 });
      await coming.stop();
    }
    expect(serverPid(dataDir)).toBeUndefined();
  });
});

describe('after a kill', () => {
  test('the next start adopts the server of a killed process', async () => {
    const dataDir = reusableDataDir();
    const first = new User(dataDir);
    expect(await first.line()).toBe('started');
    const pid = serverPid(dataDir)!;
    await first.kill();
    expect(isServer(pid)).toBe(true);
    // The server sees the end of the connection a moment later; until then it looks like a live user.
    await until(() =>
      spawnSync('ps', ['-ww', '-A', '-o', 'ppid=,args='], { encoding: 'utf8' })
        .stdout.split('\n')
        .every((line) => !(Number.parseInt(line, 10) === pid && line.includes('[local]'))),
    );
    const second = await start(dataDir);
    expect(second.origin).toBe('adopted');
    expect(serverPid(dataDir)).toBe(pid);
    await second.stop();
    expect(isServer(pid)).toBe(false);
  });

  test('a killed server calls its listener, and ensureRunning brings it back with all committed data', async () => {
    const dataDir = reusableDataDir();
    const server = await start(dataDir);
    const isKept = await keep(server.connection);
    const exit = new Promise<void>((resolve) => server.onExit(resolve));
    const pid = serverPid(dataDir)!;
    process.kill(pid, 'SIGKILL');
    await exit;
    await Promise.all([server.ensureRunning(), server.ensureRunning()]);
    expect(serverPid(dataDir)).not.toBe(pid);
    await isKept(server.connection);
    const again = new Promise<void>((resolve) => server.onExit(resolve));
    process.kill(serverPid(dataDir)!, 'SIGKILL');
    await again;
  });

  test('all processes of a killed server bring one server back, and can still stop it', async () => {
    const dataDir = reusableDataDir();
    const users = [new User(dataDir), new User(dataDir), new User(dataDir)];
    await Promise.all(users.map((user) => user.line()));
    process.kill(serverPid(dataDir)!, 'SIGKILL');
    expect(await Promise.all(users.map((user) => user.tell('ensureRunning')))).toEqual(['done', 'done', 'done']);
    const pid = serverPid(dataDir)!;
    expect(await Promise.all(users.map((user) => user.tell('stop')))).toEqual(['done', 'done', 'done']);
    expect(isServer(pid)).toBe(false);
  });

  test('a server whose backend is killed recovers, and is still marked as in use', async () => {
    const dataDir = reusableDataDir();
    const server = await start(dataDir);
    const onExit = vi.fn();
    server.onExit(onExit);
    const pid = serverPid(dataDir)!;
    const holder = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted`;
    const before = await ask(server.connection, holder);
    const client = await connect(server.connection);
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const end = new Promise<void>((resolve) => client.once('end', resolve));
    process.kill(rows[0]!.pid, 'SIGKILL');
    await end;
    const deadline = Date.now() + 300 * SECONDS;
    let now: unknown;
    do now = await ask(server.connection, holder).catch(() => undefined);
    while (
      (now === undefined || isDeepStrictEqual(now, before) || isDeepStrictEqual(now, {})) &&
      Date.now() < deadline
    );
    expect(now).toEqual({ pid: expect.any(Number) });
    expect(now).not.toEqual(before);
    expect(serverPid(dataDir)).toBe(pid);
    expect(onExit).not.toHaveBeenCalled();
  });

  test('a stop right after a backend is killed still stops the server', async () => {
    const dataDir = reusableDataDir();
    const server = await start(dataDir);
    const client = await connect(server.connection);
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    process.kill(rows[0]!.pid, 'SIGKILL');
    await server.stop();
    expect(serverPid(dataDir)).toBeUndefined();
  });

  test('the next start succeeds after the process and its server were both killed', async () => {
    const dataDir = reusableDataDir();
    const first = new User(dataDir);
    expect(await first.line()).toBe('started');
    const isKept = await keep(socketOf(dataDir));
    process.kill(first.child.pid!, 'SIGSTOP'); // so that it cannot answer the server's end
    process.kill(serverPid(dataDir)!, 'SIGKILL');
    await first.kill();
    const second = await start(dataDir);
    expect(second.origin).toBe('started');
    await isKept(second.connection);
  });

  test('ensureRunning ends the working orphans of a killed server', async () => {
    const dataDir = reusableDataDir();
    const server = await start(dataDir);
    const busy = await connect(server.connection);
    const { rows } = await busy.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const work = busy.query('SELECT count(*) FROM generate_series(1, 10000000000)').catch((error: unknown) => error);
    const exit = new Promise<void>((resolve) => server.onExit(resolve));
    process.kill(serverPid(dataDir)!, 'SIGKILL');
    await exit;
    await server.ensureRunning();
    expect(await work).toBeInstanceOf(Error);
    expect(
      await ask(server.connection, `SELECT count(*)::int AS n FROM pg_stat_activity WHERE pid = ${rows[0]!.pid}`),
    ).toEqual({ n: 0 });
  });

  test('after a kill during initdb, the next start makes a complete cluster and removes the drafts', async () => {
    const dataDir = newDataDir();
    for (const part of ['base', 'global/pg_control', 'pg_wal/archive_status']) {
      const user = new User(dataDir);
      await until(() => drafts(dataDir).some((draft) => existsSync(path.join(dataDir, draft, part))));
      await user.kill();
      expect(existsSync(path.join(dataDir, 'postgres'))).toBe(false);
    }
    const server = await start(dataDir);
    expect(server.origin).toBe('started');
    expect(await ask(server.connection, 'SELECT 1 AS x')).toEqual({ x: 1 });
    await server.stop();
    await (await start(dataDir)).stop();
    expect(drafts(dataDir)).toEqual([]);
  });

  test('a lock file with the process id of an unrelated process does not prevent the start', async () => {
    const dataDir = reusableDataDir();
    const directory = path.join(dataDir, 'postgres');
    const { uid, gid } = statSync(directory);
    const unrelated = spawn('sleep', ['600'], asRoot ? { uid, gid } : {});
    children.push(unrelated);
    for (const name of ['postmaster.pid', '.s.PGSQL.5432.lock']) {
      writeFileSync(
        path.join(directory, name),
        `${unrelated.pid}\n${directory}\n1\n5432\n.\n\n        0         0\nready   \n`,
        { mode: 0o600 },
      );
      chownSync(path.join(directory, name), uid, gid);
    }
    expect((await start(dataDir)).origin).toBe('started');
    expect(unrelated.exitCode ?? unrelated.signalCode).toBeNull();
  });

  test('an empty lock file does not prevent the start', async () => {
    const dataDir = reusableDataDir();
    const directory = path.join(dataDir, 'postgres');
    const { uid, gid } = statSync(directory);
    writeFileSync(path.join(directory, 'postmaster.pid'), '', { mode: 0o600 });
    chownSync(path.join(directory, 'postmaster.pid'), uid, gid);
    expect((await start(dataDir)).origin).toBe('started');
  });
});

describe('a start that cannot succeed', () => {
  test('the error on a platform without a package names DATABASE_URL', () => {
    expect(() => packageFor('win32', 'x64')).toThrow(/this platform \(win32-x64\): set DATABASE_URL/);
    expect(() => packageFor('win32', 'x64')).toThrow(EmbeddedPostgresError);
  });

  test('the error for a DATA_DIR that is a file names DATABASE_URL', async () => {
    const file = path.join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    expect(await refusal(file)).toMatch(/DATA_DIR .* not a folder.*DATABASE_URL/);
    expect(await refusal(path.join(file, 'data'))).toMatch(/DATA_DIR .* not a folder.*DATABASE_URL/);
  });

  test.runIf(process.platform === 'linux')(
    'the error for a DATA_DIR that the system refuses to make names DATABASE_URL',
    async () => {
      expect(await refusal('/proc/gatehouse/data')).toMatch(/DATA_DIR .*DATABASE_URL/);
    },
  );

  test('the error for other files in DATA_DIR/postgres names DATABASE_URL', async () => {
    const dataDir = newDataDir();
    mkdirSync(path.join(dataDir, 'postgres/photos'), { recursive: true });
    expect(await refusal(dataDir)).toMatch(/other than a PostgreSQL cluster.*DATABASE_URL/);
  });

  test('the error for a wrong postgresql.conf gives PostgreSQL’s reason', async () => {
    const dataDir = copiedDataDir();
    writeFileSync(path.join(dataDir, 'postgres/postgresql.auto.conf'), "shared_buffers = 'much'\n");
    expect(await refusal(dataDir)).toMatch(/did not start: .*configuration.*postgres\.log.*DATABASE_URL/);
  });
});

describe.runIf(asRoot)('as root', () => {
  test('the server runs as another user, below folders that are closed to that user', async () => {
    const dataDir = newDataDir();
    expect(statSync(path.dirname(dataDir)).mode & 0o777).toBe(0o700);
    const server = await start(dataDir);
    expect(statSync(dataDir).uid).toBe(0);
    expect(statSync(`/proc/${serverPid(dataDir)}`).uid).not.toBe(0);
    expect(await ask(server.connection, 'SELECT 1 AS x')).toEqual({ x: 1 });
  });

  test('a DATA_DIR that root moved or copied still works', async () => {
    const dataDir = copiedDataDir();
    const first = await start(dataDir);
    const isKept = await keep(first.connection);
    await first.stop();
    const [moved, copied] = [newDataDir(), newDataDir()];
    renameSync(dataDir, moved);
    await isKept((await start(moved)).connection);
    await servers.at(-1)!.stop();
    expect(spawnSync('cp', ['-r', moved, copied]).status).toBe(0);
    chmodSync(path.join(copied, 'postgres'), 0o755);
    await isKept((await start(copied)).connection);
  });

  test('root and the owner of a DATA_DIR use it in turn', async () => {
    const dataDir = newDataDir(NOBODY);
    const first = new User(dataDir, { uid: NOBODY });
    expect(await first.line()).toBe('started');
    const second = await start(dataDir);
    expect(second.origin).toBe('joined');
    expect(await first.tell('stop')).toBe('done');
    await second.stop();
    await (await start(dataDir)).stop();
    const third = new User(dataDir, { uid: NOBODY });
    expect(await third.line()).toBe('started');
    expect(await third.tell('stop')).toBe('done');
  });

  test('programs in a closed folder, installed without scripts, are copied to a folder in which the user can run them', async () => {
    const tree = temporaryFolder();
    const require = createRequire(import.meta.url);
    const name = packageFor(process.platform, process.arch);
    const original = path.join(repository, 'node_modules', name);
    const copy = path.join(tree, 'node_modules', name);
    const { version } = require(path.join(original, 'package.json')) as { version: string };
    const shared = `/var/lib/gatehouse/postgresql-${version}-${path.basename(name)}`;
    const turn = await takeTurn(sharedFolderPort);
    const existed = existsSync(shared);
    for (const part of ['src/database', 'src/config'])
      cpSync(path.join(repository, part), path.join(tree, part), { recursive: true });
    cpSync(original, copy, { recursive: true, verbatimSymlinks: true });
    symlinkSync(path.join(repository, 'node_modules/pg'), path.join(tree, 'node_modules/pg'));
    writeFileSync(path.join(tree, 'package.json'), '{ "type": "module" }');
    for (const entry of readdirSync(path.join(copy, 'native/lib'))) {
      const file = path.join(copy, 'native/lib', entry);
      if (lstatSync(file).isSymbolicLink()) unlinkSync(file);
    }
    try {
      const dataDir = newDataDir();
      const user = new User(dataDir, { module: path.join(tree, 'src/database/embedded.ts') });
      expect(await user.line()).toBe('started');
      expect(realpathSync(`/proc/${serverPid(dataDir)}/exe`)).toBe(path.join(shared, 'native/bin/postgres'));
      expect(log.join('\n')).toMatch(existed ? /^/ : /were copied to \/var\/lib\/gatehouse/);
      expect(await user.tell('stop')).toBe('done');
    } finally {
      if (!existed) rmSync(shared, { recursive: true, force: true });
      if (!existed && readdirSync(path.dirname(shared)).length === 0) rmdirSync(path.dirname(shared));
      turn.close();
    }
  });
});

describe('as an unprivileged user', () => {
  const uid = asRoot ? NOBODY : undefined;
  const nameless = 1234567;
  const wrappers = globSync('/usr/lib{,64}/{,*-linux-gnu*/}libnss_wrapper.so');

  test('the server starts, is adopted after a kill, and stops', async () => {
    const dataDir = newDataDir(uid);
    const first = new User(dataDir, { uid });
    expect(await first.line()).toBe('started');
    const pid = serverPid(dataDir)!;
    expect(statSync(path.join(dataDir, 'postgres')).uid).toBe(uid ?? process.getuid?.());
    expect(await ask(socketOf(dataDir), 'SELECT 1 AS x')).toEqual({ x: 1 });
    await first.kill();
    const second = new User(dataDir, { uid });
    expect(await second.line()).toMatch(/adopted|joined/);
    expect(serverPid(dataDir)).toBe(pid);
    expect(await second.tell('stop')).toBe('done');
    expect(isServer(pid)).toBe(false);
  });

  test.runIf(asRoot)('a folder of another user is refused with a sentence', async () => {
    const dataDir = copiedDataDir();
    chmodSync(path.dirname(dataDir), 0o755);
    expect(await new User(dataDir, { uid }).line()).toMatch(/EmbeddedPostgresError: .*permission denied.*DATABASE_URL/);
    chmodSync(dataDir, 0o777);
    expect(await new User(dataDir, { uid }).line()).toMatch(
      /EmbeddedPostgresError: .*(the user that runs the service|another user).*/,
    );
  });

  test.runIf(asRoot && wrappers.length > 0)(
    'a user id without a name gets one for initdb, and the server runs as this user (delivery 4)',
    async () => {
      const dataDir = newDataDir(nameless);
      const user = new User(dataDir, { uid: nameless });
      expect(await user.line()).toBe('started');
      expect(statSync(path.join(dataDir, 'postgres')).uid).toBe(nameless);
      expect(await ask(socketOf(dataDir), 'SELECT 1 AS x')).toEqual({ x: 1 });
      // the file with the name is gone
      expect(readdirSync(dataDir).filter((name) => name.includes('initdb'))).toEqual([]);
      expect(await user.tell('stop')).toBe('done');
    },
  );

  test.runIf(asRoot)('without the library for names, the error for such a user id says what initdb needs', async () => {
    const dataDir = newDataDir(nameless);
    expect(await new User(dataDir, { uid: nameless, hidden: wrappers }).line()).toMatch(
      /user id 1234567 has no entry in \/etc\/passwd.*libnss_wrapper/,
    );
    expect(readdirSync(dataDir).filter((name) => name.includes('initdb'))).toEqual([]);
  });
});
