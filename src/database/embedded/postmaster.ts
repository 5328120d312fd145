// Starts, recognises and signals the server's processes, and removes what a killed server leaves behind.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { link, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { PORT, type Cluster } from './cluster.ts';
import { errorCode, type EmbeddedPostgresError } from './error.ts';
import { openLog, readLogFrom } from './log-file.ts';
import { directoryArgument, programError, spawnProgram } from './program.ts';

/** Settings that override postgresql.conf: durability, no network, one socket, and no values of rows in the log. */
const FIXED = {
  listen_addresses: '',
  port: String(PORT),
  unix_socket_directories: '.', // the data directory, by a name that is never too long
  unix_socket_permissions: '0700',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  logging_collector: 'off',
  log_destination: 'stderr',
  log_line_prefix: '%m [%p] ',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
};

/** A server that this process has started. It outlives this process. */
export interface StartedServer {
  readonly pid: number | undefined;
  /** Set once the server has ended: the error that prevented its start, or a function that reads the reason from the log. */
  ended: { error: EmbeddedPostgresError } | { error?: undefined; readReason: () => Promise<string> } | undefined;
}

/**
 * Starts the server in its own session, so that the interrupt key of a terminal does not reach it.
 * PostgreSQL itself prevents a second server on the same data.
 */
export async function startServer(cluster: Cluster): Promise<StartedServer> {
  const log = await openLog(cluster.dataDir);
  try {
    const offset = (await log.stat()).size;
    const settings = Object.entries({ ...FIXED, cluster_name: cluster.name });
    const directory = directoryArgument(cluster.account, cluster.directory);
    const args = ['-D', directory, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])];
    const child = spawnProgram(cluster.account, cluster.binaries.postgres, args, {
      cwd: cluster.directory,
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    const server: StartedServer = { pid: child.pid, ended: undefined };
    child.once('error', (error) => {
      server.ended = { error: programError(cluster.binaries.postgres, cluster.account, error) };
    });
    child.once('exit', () => {
      server.ended ??= {
        readReason: async () => reasonIn(await readLogFrom(cluster.dataDir, offset).catch(() => ''), child.pid),
      };
    });
    child.unref();
    return server;
  } finally {
    await log.close();
  }
}

/** The reason why a server ended: the fatal line of that process, else the last line, which may be from the dynamic loader. */
function reasonIn(log: string, pid: number | undefined): string {
  const lines = log.split('\n').filter((line) => line.trim() !== '');
  const fatal = lines.find((line) => line.includes(`[${pid}]`) && /\b(FATAL|PANIC):/.test(line)) ?? lines.at(-1);
  return fatal?.replace(/^.*?\b(FATAL|PANIC): +/, '') ?? 'it gave no reason';
}

/** The process id of the cluster's server, or undefined when it does not run. */
export async function findServer(cluster: Cluster): Promise<number | undefined> {
  const pid = pidIn((await readLock(cluster, LOCK_FILES[0])) ?? '');
  return pid !== undefined && (await isServer(cluster, pid)) ? pid : undefined;
}

/** Signals the server. If it has just ended, that is no error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

/**
 * Removes lock files whose process id now belongs to another program: PostgreSQL takes any process with that id for a running
 * server, and in containers ids repeat at every start. A file is moved aside before the last check, and put back if it is a
 * new one, so that no live server loses its lock.
 */
export async function removeStaleLocks(cluster: Cluster, emptyToo: boolean): Promise<void> {
  for (const name of LOCK_FILES) {
    const judged = await readLock(cluster, name);
    const pid = pidIn(judged ?? '');
    if (judged === undefined || (pid === undefined ? !emptyToo : await isServer(cluster, pid))) continue;
    const file = path.join(cluster.directory, name);
    const aside = `${file}.stale-${randomBytes(6).toString('hex')}`;
    try {
      await rename(file, aside);
      if ((await readFile(aside, 'utf8')) !== judged) await link(aside, file);
      await rm(aside);
    } catch (error) {
      if (!['ENOENT', 'EEXIST'].includes(errorCode(error) ?? '')) throw error;
      await rm(aside, { force: true });
    }
  }
}

/**
 * Signals the processes that still hold the cluster's shared memory although its server does not run: the children of a
 * killed server, and a server whose folder was deleted. Ending them loses nothing that was committed: the next start recovers
 * it from the write-ahead log.
 */
export async function signalOrphans(cluster: Cluster, name: NodeJS.Signals): Promise<void> {
  if ((await findServer(cluster)) !== undefined) return;
  for (const { pid, command } of await processes()) {
    if (command.startsWith(`postgres: ${cluster.name}:`) || namesCluster(command, cluster)) signal(pid, name);
  }
}

const LOCK_FILES = ['postmaster.pid', `.s.PGSQL.${PORT}.lock`] as const;

async function readLock(cluster: Cluster, name: string): Promise<string | undefined> {
  return await readFile(path.join(cluster.directory, name), 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
}

function pidIn(lock: string): number | undefined {
  const pid = Number.parseInt(lock, 10);
  return pid > 1 ? pid : undefined;
}

/** Whether a process is this cluster's server: its arguments contain the cluster's name. A process that has ended has no arguments. */
export async function isServer(cluster: Cluster, pid: number): Promise<boolean> {
  return namesCluster((await commandOf(pid)) ?? '', cluster);
}

function namesCluster(command: string, cluster: Cluster): boolean {
  return command.split(' ').includes(`cluster_name=${cluster.name}`);
}

/** A process's command line. Other means to recognise a process need more rights than root has in a container. */
async function commandOf(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return psOutput(['-p', String(pid), '-o', 'command=']);
  const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined);
  return text?.replaceAll('\0', ' ').trim();
}

async function processes(): Promise<{ pid: number; command: string }[]> {
  if (process.platform !== 'linux') {
    const lines = psOutput(['-ax', '-o', 'pid=,command=']).split('\n');
    return lines.map((line) => ({ pid: Number.parseInt(line, 10), command: line.replace(/^\s*\d+\s+/, '') }));
  }
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger);
  return await Promise.all(pids.map(async (pid) => ({ pid, command: (await commandOf(pid)) ?? '' })));
}

function psOutput(args: string[]): string {
  return spawnSync('/bin/ps', ['-ww', ...args], { encoding: 'utf8', env: { LC_ALL: 'C' } }).stdout?.trim() ?? '';
}
