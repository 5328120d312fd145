// Starts the service and its commands as operators do: bin/gatehouse as a child process with its own settings, on a free port of the
// loopback.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { observe, remember } from './dump-search.ts';
import { patience } from './limits.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
export const launcher = join(root, 'bin/gatehouse');

export interface ServerProcess {
  issuer: string;
  /** Where this process listens, which differs from the issuer if it shares a database with other instances. */
  address: string;
  port: number;
  pid: number;
  /** Settles when the process has ended. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly stdout: string;
  readonly stderr: string;
  /** Waits for the greeting; throws with the output when the process ends before. */
  ready(): Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

/** The environment of a program besides its settings; the tests start hundreds of processes, so compiled code is cached. */
export const surroundings = {
  PATH: process.env['PATH'],
  NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
};

/** Every process started here, so that none outlives the tests. */
const children = new Set<ChildProcess>();
/** The lines that they have printed for the operator. */
let printed: string[] = [];

/**
 * Starts the server with only the given settings in its environment; one browser may send as many requests as a load does.
 * @param tree the checkout whose server it is, if not this one
 */
export function startServer(settings: Record<string, string>, tree = root): ServerProcess {
  return start([], { LIMIT_CODES_PER_SESSION: '0', ...settings }, '', tree);
}

/** Starts the command line, which prints JSON. */
export function startCommand(args: string[], settings: Record<string, string>, input?: string): ServerProcess {
  return start([...args, '--json'], settings, input);
}

/** Runs the command line to its end, with `input` as its standard input, and returns what it printed as JSON. */
export async function runCommand(
  args: string[],
  settings: Record<string, string>,
  input?: string,
): Promise<Record<string, unknown>> {
  const command = startCommand(args, settings, input);
  const { code } = await command.exited;
  if (code !== 0) throw new Error(`the command ${args.join(' ')} failed: ${command.stderr}`);
  return JSON.parse(command.stdout) as Record<string, unknown>;
}

function start(args: string[], settings: Record<string, string>, input = '', cwd = root): ServerProcess {
  for (const key of settings['SECRET_KEY']?.split(',') ?? []) remember('SECRET_KEY', key);
  remember('password', settings['ADMIN_PASSWORD']);
  const child = spawn(join(cwd, 'bin/gatehouse'), args, {
    cwd,
    env: { ...surroundings, ...settings },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  children.add(child);
  // a program that reads no input may have ended before the input is sent
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // 'close' and not 'exit': by then all output has arrived
  const exited = once(child, 'close').then(([code, signal]) => {
    children.delete(child);
    printed.push(...stderr.split('\n'));
    observe(stdout);
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });
  const port = Number(settings['PORT'] ?? 3000);
  return {
    port,
    issuer: settings['BASE_URL'] ?? `http://localhost:${port}`,
    address: `http://localhost:${port}`,
    pid: child.pid!,
    exited,
    get stdout() {
      return stdout;
    },
    get stderr() {
      return stderr;
    },
    async ready() {
      for (const begin = Date.now(); !stdout.includes('Gatehouse is ready'); await delay(10)) {
        if (child.exitCode !== null || child.signalCode !== null) {
          await exited;
          throw new Error(`the server ended (${child.exitCode ?? child.signalCode}): ${stdout}${stderr}`);
        }
        if (Date.now() - begin > patience) throw new Error(`the server did not start: ${stdout}${stderr}`);
      }
    },
    kill: (signal) => void child.kill(signal),
  };
}

/** Stops all processes started here, gracefully, then by force; returns their log lines since the last call. */
export async function stopServers(): Promise<string[]> {
  await Promise.all(
    [...children].map(async (child) => {
      const closed = once(child, 'close');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 120_000);
      await closed;
      clearTimeout(timer);
    }),
  );
  const lines = printed;
  printed = [];
  return lines;
}

/** The processes of the service that a process has started. */
export function workersOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' '))
    .map(Number)
    .filter((child) => child !== 0 && isServer(child));
}

/** Whether a process is one of the service: one that was killed has no command line, even while its entry stays. */
export function isServer(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('server.ts');
  } catch {
    return false;
  }
}

/** The process id of the embedded PostgreSQL server in a DATA_DIR; undefined when there is none. */
export function postmasterOf(dataDir: string): number | undefined {
  try {
    const pid = Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
    // the id in a file that a kill left behind may belong to an unrelated process by now
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('cluster_name=gatehouse-') ? pid : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A port of the loopback that was free a moment ago. It lies below the ports that the system gives to outgoing connections, so that
 * none of these takes it before the service does.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createServer().listen(port, 'localhost');
    const free = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.close();
    if (free) return port;
  }
}
