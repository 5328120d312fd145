// The processes under load: the service as its users run it, and the bare reference, both on the same PostgreSQL.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Child {
  base: string;
  pid: number;
  stop(): Promise<void>;
}

const root = fileURLToPath(new URL('..', import.meta.url));

/** @param profile a folder for a CPU profile, which is written when the service stops */
export async function startService(
  folder: string,
  settings: Record<string, string>,
  profile: string | undefined,
): Promise<Child> {
  const port = await freePort();
  const options = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const child = spawn(process.execPath, [...options, 'src/server.ts'], {
    cwd: root,
    env: { PATH: process.env['PATH'], PORT: String(port), ...settings },
    // the log goes to a file, as it does in operation
    stdio: ['ignore', 'pipe', openSync(join(folder, 'service.log'), 'a')],
  });
  await printed(child, /Gatehouse is ready/);
  return { base: `http://localhost:${port}`, pid: child.pid!, stop: () => stop(child) };
}

export async function startReference(url: string, poolSize: number): Promise<Child> {
  const child = spawn(process.execPath, ['bench/reference.ts', url, String(poolSize)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [, port] = await printed(child, /listening on (\d+)/);
  return { base: `http://localhost:${port}`, pid: child.pid!, stop: () => stop(child) };
}

/** Runs the command line and returns what it prints as JSON. */
export async function command(args: string[], settings: Record<string, string>): Promise<Record<string, string>> {
  const child = spawn(process.execPath, ['src/cli.ts', ...args, '--json'], {
    cwd: root,
    env: { PATH: process.env['PATH'], ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [text] = await printed(child, /^\{.*\}\n/s);
  return JSON.parse(text) as Record<string, string>;
}

async function printed(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  let text = '';
  for await (const part of child.stdout!.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    text += part as string;
    const match = pattern.exec(text);
    if (match) {
      child.stdout!.resume();
      return match;
    }
  }
  throw new Error(`a process of the benchmark ended too early: ${text}`);
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
