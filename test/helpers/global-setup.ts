// Runs once before all test files: one PostgreSQL server, with a migrated template database that each file clones.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/database/embedded.ts';
import { serverAccount } from '../../src/database/embedded/account.ts';
import { findBinaries } from '../../src/database/embedded/binaries.ts';
import { migrate } from '../../src/database/migrations.ts';
// declares the stored functions, which migrate() installs
import '../../src/repositories/store.ts';

export interface ServerAddress {
  host: string;
  port: number;
  user: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    postgres: ServerAddress;
    /** A DATA_DIR with a stopped cluster, to be copied; undefined where no embedded server runs. */
    cluster: string | undefined;
  }
}

export const templateDatabase = 'gatehouse_template';
const user = 'gatehouse';

/** A file system in memory, where there is one: a database is a thousand files, and a disk takes ten times as long to create them. */
const memory = '/dev/shm';
const TMPFS = 0x01021994; // TMPFS_MAGIC of Linux
const memoryNeeded = 2 * 2 ** 30; // bytes

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // also for the workers, which begin after this
  if (hasRoomInMemory()) process.env['TMPDIR'] ??= memory;
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  const bin = process.env['TEST_POSTGRES_BIN'];
  const server = bin ? await startInstalled(bin, folder) : await startEmbedded(folder);
  await execute(
    { ...server.address, database: 'postgres' },
    `CREATE DATABASE ${templateDatabase} ENCODING 'UTF8' TEMPLATE template0`,
  );
  await migrate({ ...server.address, database: templateDatabase });
  // leaves a file with the catalogue entries that each connection needs, so that the first connection of a copy need not collect them
  await execute({ ...server.address, database: templateDatabase }, 'SELECT 1');
  project.provide('postgres', server.address);
  project.provide('cluster', server.cluster);
  return async () => {
    await server.stop();
    // the server's last processes may still write while they end
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
}

interface Owner {
  uid: number;
  gid: number;
}

interface TestServer {
  address: ServerAddress;
  cluster?: string;
  stop(): Promise<void>;
}

/** The cluster as the service creates it, with a server of its own, but not as durable. */
async function startEmbedded(folder: string): Promise<TestServer> {
  const log = () => undefined;
  const [cluster, data] = [join(folder, 'cluster'), join(folder, 'data')];
  await (await startEmbeddedPostgres({ dataDir: cluster, log })).stop();
  copyCluster(join(cluster, 'postgres'), data);
  const account = await serverAccount(folder, data);
  const { postgres } = await findBinaries(account, log);
  if (account) giveAway(folder, account);
  return { ...(await start(postgres, data, folder, account)), cluster };
}

/** Copies a stopped cluster, or a DATA_DIR with one, owners included, to a folder that does not exist. */
export function copyCluster(from: string, to: string): void {
  execFileSync('cp', ['-Rp', from, to]);
}

/** The programs of an installed server, as an unprivileged user, on a socket in a folder of its own. */
async function startInstalled(bin: string, folder: string): Promise<TestServer> {
  const owner = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : undefined;
  if (owner) giveAway(folder, owner);
  const data = join(folder, 'data');
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', user, '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8'], {
    ...owner,
    cwd: folder,
  });
  return start(join(bin, 'postgres'), data, folder, owner);
}

/** The tests here do not cover the loss of power, so the server does not wait for the disk; test/faults/ has servers that do. */
async function start(program: string, data: string, folder: string, owner: Owner | undefined): Promise<TestServer> {
  const settings = [
    'listen_addresses=',
    'max_connections=400',
    'fsync=off',
    'full_page_writes=off',
    'synchronous_commit=off',
  ];
  const child = spawn(program, ['-D', data, '-k', folder, ...settings.flatMap((setting) => ['-c', setting])], {
    ...owner,
    cwd: folder,
    stdio: 'ignore',
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const address = { host: folder, port: 5432, user };
  for (let attempt = 0; ; attempt++) {
    try {
      await execute({ ...address, database: 'postgres' }, 'SELECT 1');
      break;
    } catch (error) {
      if (attempt > 200) throw error;
      await delay(50);
    }
  }
  return {
    address,
    async stop() {
      child.kill('SIGINT');
      await exited;
    },
  };
}

function hasRoomInMemory(): boolean {
  try {
    const { type, bavail, bsize } = statfsSync(memory);
    return type === TMPFS && bavail * bsize >= memoryNeeded && process.availableMemory() >= 2 * memoryNeeded;
  } catch {
    return false;
  }
}

function giveAway(folder: string, { uid, gid }: Owner): void {
  chmodSync(folder, 0o755);
  chownSync(folder, uid, gid);
}

function idOf(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
}

export async function execute(connection: pg.ClientConfig, sql: string): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
