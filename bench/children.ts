// Starts the processes under load: the service as its operators run it, the bare reference and the peer, all on the same PostgreSQL.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Child {
  base: string;
  pid: number;
  stop(): Promise<void>;
  /** Milliseconds until it was ready. */
  startTime?: number;
  /** The address of its inspector. */
  inspector?: string | undefined;
}

const root = fileURLToPath(new URL('..', import.meta.url));

const launcher = join(root, 'bin/gatehouse');

/**
 * @param options.profile a folder for a CPU profile, which is written when the service stops
 * @param options.inspected with an inspector from which profiles can be taken
 * @param options.instead a program that Node runs instead of the service, and that prints the same when it is ready
 */
export async function startService(
  folder: string,
  settings: Record<string, string>,
  {
    profile,
    inspected = false,
    instead,
  }: { profile?: string | undefined; inspected?: boolean | undefined; instead?: string } = {},
): Promise<Child> {
  const port = await freePort();
  const log = join(folder, `service-${port}.log`);
  const options = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${JSON.stringify(profile)}`];
  if (inspected) options.push('--inspect=127.0.0.1:0');
  if (instead !== undefined) options.push(`--import=./${instead}`);
  const child = spawn(launcher, [], {
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      PORT: String(port),
      NODE_ENV: 'production',
      NODE_OPTIONS: options.join(' '),
      ...settings,
    },
    // the log goes to a file, as it does in operation
    stdio: ['ignore', 'pipe', openSync(log, 'a')],
  });
  const begin = performance.now();
  await printed(child, /Gatehouse is ready/, log);
  const startTime = performance.now() - begin;
  const inspector = inspected ? /ws:\S+/.exec(readFileSync(log, 'utf8'))?.[0] : undefined;
  return { base: `http://localhost:${port}`, pid: child.pid!, stop: () => stop(child), startTime, inspector };
}

/** @param documents files with the discovery document and the key set to answer */
export async function startReference(url: string, poolSize: number, documents: string[]): Promise<Child> {
  const child = spawn(process.execPath, ['bench/reference.ts', url, String(poolSize), ...documents], {
    cwd: root,
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [, port] = await printed(child, /listening on (\d+)/);
  return { base: `http://localhost:${port}`, pid: child.pid!, stop: () => stop(child) };
}

export interface Peer extends Child {
  /** By name: client_id and client_secret. */
  clients: Record<string, Record<string, string>>;
}

/** @param accounts how many users it knows, user-0 and so on */
export async function startPeer(url: string, poolSize: number, accounts: number): Promise<Peer> {
  const port = await freePort();
  const child = spawn(process.execPath, ['bench/peer.ts', url, String(poolSize), String(port), String(accounts)], {
    cwd: root,
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { input } = await printed(child, /listening on \d+/);
  const clients = Object.fromEntries(
    [...input.matchAll(/client (\S+) (\S+) (\S+)/g)].map(([, name, client_id, client_secret]) => [
      name!,
      { client_id: client_id!, client_secret: client_secret! },
    ]),
  );
  return { base: `http://localhost:${port}`, pid: child.pid!, stop: () => stop(child), clients };
}

/** Runs the command line and returns its output parsed as JSON. */
export async function command(args: string[], settings: Record<string, string>): Promise<Record<string, string>> {
  const child = spawn(launcher, [...args, '--json'], {
    cwd: root,
    env: { PATH: process.env['PATH'], ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [text] = await printed(child, /^\{.*\}\n/s);
  return JSON.parse(text) as Record<string, string>;
}

/** @param log the file of its standard error, if it has one */
async function printed(child: ChildProcess, pattern: RegExp, log?: string): Promise<RegExpExecArray> {
  let text = '';
  for await (const part of child.stdout!.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    text += part as string;
    const match = pattern.exec(text);
    if (match) {
      child.stdout!.resume();
      return match;
    }
  }
  const why = log === undefined ? text : readFileSync(log, 'utf8').trimEnd().split('\n').at(-1);
  throw new Error(`a process of the benchmark ended too early: ${why}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
