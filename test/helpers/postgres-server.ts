// Runs PostgreSQL servers that a test may kill, freeze, fill and promote: each a cluster of its own, with fsync on, on the loopback.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { serverAccount } from '../../src/database/embedded/account.ts';
import { findBinaries } from '../../src/database/embedded/binaries.ts';
import { patience } from './limits.ts';
import { freePort } from './server-process.ts';

const user = 'gatehouse';

interface Programs {
  initdb: string;
  postgres: string;
  /** The user who runs them when this process is root, which PostgreSQL refuses. */
  account: { uid: number; gid: number } | undefined;
}

/** The programs of an installed server in its folder, or the embedded ones. */
async function programs(bin: string | undefined): Promise<Programs> {
  const account = await serverAccount('/nonexistent', '/nonexistent');
  const found = bin
    ? { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
    : await findBinaries(account, () => undefined);
  return { ...found, account };
}

export class PostgresServer {
  readonly port: number;
  readonly #folder: string;
  readonly #programs: Programs;
  #child: ChildProcess | undefined;

  private constructor(folder: string, port: number, found: Programs) {
    this.#folder = folder;
    this.port = port;
    this.#programs = found;
  }

  /** Creates a cluster with an empty database in a folder that does not exist yet, and starts its server. */
  static async create(folder: string, bin = process.env['TEST_POSTGRES_BIN']): Promise<PostgresServer> {
    const found = await programs(bin);
    const server = new PostgresServer(folder, await freePort(), found);
    server.#makeFolder();
    const options = ['-D', join(folder, 'data'), '-U', user, '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'];
    execFileSync(found.initdb, options, { ...found.account, cwd: folder, stdio: 'ignore' });
    await server.start();
    await server.sql('CREATE DATABASE gatehouse', 'postgres');
    return server;
  }

  /** A standby that follows this server on the same cluster; it is up to date when this returns. */
  async standby(folder: string): Promise<PostgresServer> {
    const follower = new PostgresServer(folder, await freePort(), this.#programs);
    follower.#makeFolder();
    const data = join(folder, 'data');
    // a base backup by hand, since not every package has pg_basebackup; both calls must use one connection
    const label = await this.#connected('postgres', async (client) => {
      await client.query(`SELECT pg_backup_start('standby', fast => true)`);
      await cp(join(this.#folder, 'data'), data, {
        recursive: true,
        filter: (path) => !path.endsWith('postmaster.pid'),
      });
      const { rows } = await client.query<{ labelfile: string }>(
        'SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)',
      );
      return rows[0]!.labelfile;
    });
    writeFileSync(join(data, 'backup_label'), label);
    writeFileSync(join(data, 'standby.signal'), '');
    // the primary's settings apply to the primary alone
    writeFileSync(
      join(data, 'postgresql.auto.conf'),
      `primary_conninfo = 'host=127.0.0.1 port=${this.port} user=${user} application_name=standby'\n`,
    );
    follower.#giveAway(data);
    await follower.start();
    return follower;
  }

  /** From now on the primary acknowledges nothing that the standby does not have. */
  async replicateSynchronously(): Promise<void> {
    await this.sql(`ALTER SYSTEM SET synchronous_standby_names = 'standby'`);
    await this.sql('SELECT pg_reload_conf()');
    const state = `SELECT count(*)::int AS count FROM pg_stat_replication WHERE sync_state = 'sync'`;
    while ((await this.sql<{ count: number }>(state))[0]!.count === 0) await delay(20);
  }

  async promote(): Promise<void> {
    await this.sql('SELECT pg_promote(wait => true)', 'postgres');
  }

  async start(): Promise<void> {
    const settings = {
      listen_addresses: '127.0.0.1',
      port: String(this.port),
      unix_socket_directories: '',
      max_connections: '60',
      wal_keep_size: '256MB',
      wal_retrieve_retry_interval: '100ms',
    };
    for (const begin = performance.now(); ;) {
      const { postgres, account } = this.#programs;
      const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
      const child = spawn(postgres, ['-D', join(this.#folder, 'data'), ...options], {
        ...account,
        cwd: this.#folder,
        stdio: 'ignore',
      });
      this.#child = child;
      while (child.exitCode === null) {
        if (
          await this.sql('SELECT 1', 'postgres').then(
            () => true,
            () => false,
          )
        )
          return;
        if (performance.now() - begin > patience) throw new Error('the PostgreSQL server does not start');
        await delay(10);
      }
      // processes of a killed server may still be ending
      if (performance.now() - begin > patience) throw new Error('the PostgreSQL server does not start');
      await delay(50);
    }
  }

  /** kill -9 of the whole server, as when its machine loses power. */
  async kill(): Promise<void> {
    const child = this.#child!;
    const exited = once(child, 'exit');
    // the parent first, so that it starts no other
    for (const pid of this.#processes()) signal(pid, 'SIGKILL');
    await exited;
  }

  freeze(): void {
    for (const pid of this.#processes()) signal(pid, 'SIGSTOP');
  }

  thaw(): void {
    for (const pid of this.#processes().reverse()) signal(pid, 'SIGCONT');
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    this.thaw();
    // SIGQUIT: at once, since its data are not needed any more
    child.kill('SIGQUIT');
    await exited;
  }

  /** The owner of its files; undefined for the user of this process. */
  get account(): Programs['account'] {
    return this.#programs.account;
  }

  get connection(): pg.ClientConfig {
    return { host: '127.0.0.1', port: this.port, user, database: 'gatehouse' };
  }

  sql<Row extends pg.QueryResultRow>(text: string, database = 'gatehouse'): Promise<Row[]> {
    return this.#connected(database, async (client) => (await client.query<Row>(text)).rows);
  }

  async #connected<T>(database: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ ...this.connection, database });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return await work(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** The server's processes: the parent, then its children. */
  #processes(): number[] {
    const parent = this.#child!.pid!;
    const tasks = `/proc/${parent}/task/${parent}/children`;
    const children = existsSync(tasks) ? readFileSync(tasks, 'utf8').trim().split(' ').filter(Boolean).map(Number) : [];
    return [parent, ...children];
  }

  #makeFolder(): void {
    mkdirSync(this.#folder, { recursive: true });
    const { account } = this.#programs;
    if (account) chownSync(this.#folder, account.uid, account.gid);
  }

  #giveAway(folder: string): void {
    chmodSync(folder, 0o700);
    const { account } = this.#programs;
    if (!account) return;
    for (const entry of ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })])
      chownSync(join(folder, entry), account.uid, account.gid);
  }

  /** Stops it and removes its files. */
  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A process that has just ended has none. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
