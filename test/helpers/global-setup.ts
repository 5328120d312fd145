// Runs once before all test files: one PostgreSQL server, with a migrated template database that each file clones.
import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/database/embedded.ts';
import { migrate } from '../../src/database/migrations.ts';

export interface ServerAddress {
  host: string;
  port: number;
  user: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    postgres: ServerAddress;
  }
}

export const templateDatabase = 'gatehouse_template';

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  const bin = process.env['TEST_POSTGRES_BIN'];
  const server = bin ? await startInstalled(bin, folder) : await startEmbedded(folder);
  await execute(
    { ...server.address, database: 'postgres' },
    `CREATE DATABASE ${templateDatabase} ENCODING 'UTF8' TEMPLATE template0`,
  );
  await migrate({ ...server.address, database: templateDatabase });
  project.provide('postgres', server.address);
  return async () => {
    await server.stop();
    // the server's last processes may still write while they end
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
}

async function startEmbedded(folder: string): Promise<{ address: ServerAddress; stop(): Promise<void> }> {
  const options = { dataDir: folder, log: () => undefined };
  await (await startEmbeddedPostgres(options)).stop();
  // its default is for one service; here are dozens
  appendFileSync(join(folder, 'postgres', 'postgresql.conf'), 'max_connections = 300\n');
  const server = await startEmbeddedPostgres(options);
  const { host, port, user } = server.connection;
  return { address: { host, port, user }, stop: () => server.stop() };
}

/** An installed server's programs, as an unprivileged user, on a socket in a folder of its own. */
async function startInstalled(bin: string, folder: string): Promise<{ address: ServerAddress; stop(): Promise<void> }> {
  const owner = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : undefined;
  if (owner) {
    chmodSync(folder, 0o755);
    chownSync(folder, owner.uid, owner.gid);
  }
  const data = join(folder, 'data');
  const user = 'gatehouse';
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', user, '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8'], {
    ...owner,
    cwd: folder,
  });
  const child = spawn(
    join(bin, 'postgres'),
    ['-D', data, '-k', folder, '-c', 'listen_addresses=', '-c', 'fsync=off', '-c', 'max_connections=300'],
    { ...owner, cwd: folder, stdio: 'ignore' },
  );
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
