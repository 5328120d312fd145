// Runs the cluster of docs/scaling.md on one machine: etcd, three PostgreSQL servers under Patroni, HAProxy before their leader, and
// PgBouncer. Each program has its own address on the loopback, so that deploy/patroni/ is used as it is, except for addresses, folders and
// passwords.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type Account, serverAccount } from '../../src/database/embedded/account.ts';

const deploy = join(import.meta.dirname, '../../deploy/patroni');
const startLimit = 90_000; // milliseconds
const nodeNames = ['node-one', 'node-two', 'node-three'] as const;
export type NodeName = (typeof nodeNames)[number];

/** Debian's packages, each by a program that shows that it is installed. */
const packages = {
  patroni: '/usr/bin/patroni',
  'etcd-server': '/usr/bin/etcd',
  haproxy: '/usr/sbin/haproxy',
  pgbouncer: '/usr/sbin/pgbouncer',
  'postgresql-15': '/usr/lib/postgresql/15/bin/postgres',
};

/** The names of the packages that have to be installed first. */
export function missingPackages(): string[] {
  return Object.entries(packages).flatMap(([name, program]) => (existsSync(program) ? [] : [name]));
}

/** The process of the leader that is killed. */
export type Victim = 'PostgreSQL' | 'Patroni' | 'both';

interface Member {
  name: NodeName;
  role: string;
  state: string;
}

export class PatroniCluster {
  /** The leader according to Patroni; undefined while there is none. */
  leader: NodeName | undefined;
  readonly #folder: string;
  readonly #account: Account | undefined;
  /** The first three bytes of all addresses. */
  readonly #network = `127.${randomInt(2, 255)}.${randomInt(1, 255)}`;
  readonly #passwords = { service: newPassword(), superuser: newPassword(), replication: newPassword() };
  readonly #programs = new Map<string, ChildProcess>();
  #watching = true;
  #watch: Promise<void> = Promise.resolve();

  private constructor(folder: string, account: Account | undefined) {
    this.#folder = folder;
    this.#account = account;
  }

  /** @param folder empty and readable by all users, since the programs run as another user when this process is root */
  static async start(folder: string): Promise<PatroniCluster> {
    const cluster = new PatroniCluster(folder, await serverAccount('/nonexistent', '/nonexistent'));
    try {
      await cluster.#start();
    } catch (error) {
      await cluster.close();
      throw error;
    }
    return cluster;
  }

  async #start(): Promise<void> {
    this.#run('etcd', packages['etcd-server'], ['--config-file', this.#configured('etcd', 'etcd.yml')]);
    for (const name of nodeNames) this.startPatroni(name);
    this.#run('haproxy', packages.haproxy, ['-db', '-f', this.#configured('haproxy', 'haproxy.cfg')]);
    this.#watch = this.#watchLeader();
    await this.untilWhole();
    const { service } = this.#passwords;
    for (const statement of [
      `CREATE ROLE gatehouse LOGIN PASSWORD '${service}'`,
      'CREATE DATABASE gatehouse OWNER gatehouse',
    ])
      await this.#sql(statement);
    this.#run('pgbouncer', packages.pgbouncer, ['-q', this.#configured('pgbouncer', 'pgbouncer.ini')]);
  }

  /** HAProxy's address, which leads to the leader; or PgBouncer's, which leads to HAProxy. */
  url(through: 'haproxy' | 'pgbouncer'): string {
    const address = through === 'haproxy' ? `${this.#network}.20:5000` : `${this.#network}.21:6432`;
    return `postgresql://gatehouse:${this.#passwords.service}@${address}/gatehouse`;
  }

  get connection(): pg.ClientConfig {
    return { connectionString: this.url('haproxy') };
  }

  /** kill -9, as when its machine loses power or its memory runs out. @returns the node that led */
  kill(victim: Victim): NodeName {
    const name = this.leader!;
    if (victim !== 'PostgreSQL') this.#programs.get(name)!.kill('SIGKILL');
    if (victim !== 'Patroni') this.#killPostgres(name, 'SIGKILL');
    return name;
  }

  /** Starts Patroni of a node, unless it runs. */
  startPatroni(name: NodeName): void {
    const child = this.#programs.get(name);
    if (child && child.exitCode === null && child.signalCode === null) return;
    this.#run(name, packages.patroni, [this.#configured(name, 'patroni.yml')]);
  }

  /** Waits until all three are there, and one of them synchronously. */
  async untilWhole(): Promise<void> {
    for (const begin = performance.now(); ; await delay(100)) {
      const members = await this.#members();
      const well = members.filter(({ state }) => state === 'running' || state === 'streaming');
      const roles = new Set(well.map(({ role }) => role));
      if (well.length === nodeNames.length && roles.has('leader') && roles.has('sync_standby')) return;
      if (performance.now() - begin > startLimit)
        throw new Error(
          `the nodes are not together: ${members.map(({ name, role, state }) => `${name} ${role} ${state}`).join(', ')}\n${this.#lastWords()}`,
        );
    }
  }

  /** The versions of all programs. */
  async versions(): Promise<string> {
    const [row] = await this.#sql<{ server_version: string }>('SHOW server_version');
    const first = async (program: string, option: string) =>
      /\d+\.\d+(\.\d+)?/.exec(await outputOf(program, option))?.[0] ?? 'unknown';
    return [
      `PostgreSQL ${row!.server_version.split(' ')[0]}`,
      `Patroni ${await first(packages.patroni, '--version')}`,
      `etcd ${await first(packages['etcd-server'], '--version')}`,
      `HAProxy ${await first(packages.haproxy, '-v')}`,
      `PgBouncer ${await first(packages.pgbouncer, '-V')}`,
    ].join(', ');
  }

  /** Ends everything that was started. */
  async close(): Promise<void> {
    this.#watching = false;
    await this.#watch;
    // PostgreSQL first: its data are not needed any more, and Patroni waits for it when it ends
    for (const name of nodeNames) {
      await this.#end(name, 'SIGKILL');
      this.#killPostgres(name, 'SIGQUIT');
    }
    for (const name of ['pgbouncer', 'haproxy', 'etcd']) await this.#end(name, 'SIGTERM');
    for (const name of nodeNames) while (this.#postmasterOf(name) !== undefined) await delay(20);
  }

  async #end(name: string, signal: NodeJS.Signals): Promise<void> {
    const child = this.#programs.get(name);
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  async #watchLeader(): Promise<void> {
    for (; this.#watching; await delay(100))
      this.leader = (await this.#members()).find(({ role }) => role === 'leader')?.name;
  }

  /** The answer of the first node that answers. */
  async #members(): Promise<Member[]> {
    for (const name of nodeNames) {
      try {
        const address = `http://${this.#network}.${numberOf(name)}:8008/cluster`;
        const response = await fetch(address, { signal: AbortSignal.timeout(1_000) });
        return ((await response.json()) as { members: Member[] }).members;
      } catch {
        // another node knows it too
      }
    }
    return [];
  }

  /** Tries until HAProxy leads to a leader. */
  async #sql<Row extends pg.QueryResultRow>(text: string): Promise<Row[]> {
    for (const begin = performance.now(); ; await delay(100)) {
      const client = new pg.Client({
        host: `${this.#network}.20`,
        port: 5000,
        user: 'postgres',
        password: this.#passwords.superuser,
        database: 'postgres',
      });
      client.on('error', () => undefined);
      try {
        await client.connect();
        return (await client.query<Row>(text)).rows;
      } catch (error) {
        if (error instanceof pg.DatabaseError || performance.now() - begin > startLimit) throw error;
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  }

  /** The end of each log, since the logs are deleted with the folder. */
  #lastWords(): string {
    const names = [...this.#programs.keys()];
    const end = (name: string) =>
      readFileSync(join(this.#folder, `${name}.log`), 'utf8')
        .split('\n')
        .slice(-25);
    return names.map((name) => [`--- ${name}`, ...end(name)].join('\n')).join('\n');
  }

  #run(name: string, program: string, args: string[]): void {
    const log = openSync(join(this.#folder, `${name}.log`), 'a');
    const child = spawn(program, args, {
      ...(this.#account && { uid: this.#account.uid, gid: this.#account.gid }),
      cwd: join(this.#folder, name),
      env: { PATH: '/usr/sbin:/usr/bin:/bin', LC_ALL: 'C.UTF-8' },
      stdio: ['ignore', log, log],
    });
    this.#programs.set(name, child);
  }

  /**
   * Writes a program's file of deploy/patroni/ with this cluster's addresses, folders and passwords.
   * @throws Error when the file does not contain a placeholder of a folder or a password
   */
  #configured(name: string, file: string): string {
    const home = join(this.#folder, name);
    const { service, superuser, replication } = this.#passwords;
    const places: Record<string, [string, string][]> = {
      'etcd.yml': [['/var/lib/etcd/gatehouse', join(home, 'data')]],
      'patroni.yml': [
        ['node-one', name],
        ['10.0.0.11', `10.0.0.${numberOf(name)}`],
        ['/var/lib/postgresql/15/gatehouse', join(home, 'data')],
        ['/var/run/postgresql', home],
        ['SUPERUSER_PASSWORD', superuser],
        ['REPLICATION_PASSWORD', replication],
        // a client of an address of the loopback connects from the first address
        ['10.0.0.0/24', '127.0.0.0/8'],
      ],
      'haproxy.cfg': [],
      'pgbouncer.ini': [['/etc/pgbouncer/userlist.txt', join(home, 'userlist.txt')]],
    };
    let text = readFileSync(join(deploy, file), 'utf8');
    for (const [from, to] of places[file]!) {
      if (!text.includes(from)) throw new Error(`deploy/patroni/${file} does not hold ${from}`);
      text = text.replaceAll(from, to);
    }
    mkdirSync(home, { recursive: true });
    const target = join(home, file);
    writeFileSync(target, text.replaceAll('10.0.0.', `${this.#network}.`));
    if (file === 'pgbouncer.ini') writeFileSync(join(home, 'userlist.txt'), `"gatehouse" "${service}"\n`);
    if (this.#account) chownSync(home, this.#account.uid, this.#account.gid);
    return target;
  }

  /** The processes of the server, the parent first, so that it starts no other. */
  #killPostgres(name: NodeName, signal: NodeJS.Signals): void {
    const parent = this.#postmasterOf(name);
    if (parent === undefined) return;
    const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ').filter(Boolean);
    for (const pid of signal === 'SIGKILL' ? [parent, ...children.map(Number)] : [parent]) {
      try {
        process.kill(pid, signal);
      } catch {
        // it has just ended
      }
    }
  }

  #postmasterOf(name: NodeName): number | undefined {
    const data = join(this.#folder, name, 'data');
    try {
      const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
      // the id in a file that a kill left behind may belong to an unrelated process by now
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(data) ? pid : undefined;
    } catch {
      return undefined;
    }
  }
}

const numberOf = (name: string) => 11 + nodeNames.indexOf(name as NodeName);
const newPassword = () => randomBytes(18).toString('base64url');

async function outputOf(program: string, option: string): Promise<string> {
  const child = spawn(program, [option], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const part of child.stdout.setEncoding('utf8')) text += part as string;
  return text;
}
