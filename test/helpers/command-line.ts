// Runs the real command line on the database of a running test service: in this process, or as a process of its own.
import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runCommandLine } from '../../src/command-line/command-line.ts';
import { observe } from './dump-search.ts';
import { launcher, surroundings } from './server-process.ts';
import type { TestService } from './service.ts';

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

type Place = Pick<TestService, 'issuer' | 'database' | 'secretKey'>;

export interface CommandOptions {
  /** The standard input; undefined closes it. */
  stdin?: string;
  environment?: Record<string, string>;
}

const settings = (service: Place, { environment }: CommandOptions) => ({
  BASE_URL: service.issuer,
  DATABASE_URL: service.database.url,
  SECRET_KEY: service.secretKey,
  ...environment,
});

/** Runs the command line with these arguments; only the start of a process is missing. */
export async function runCommand(service: Place, args: string[], options: CommandOptions = {}): Promise<Finished> {
  const printed = { stdout: '', stderr: '' };
  const into = (name: keyof typeof printed) => ({
    write: (chunk: unknown) => {
      printed[name] += String(chunk);
      return true;
    },
  });
  const terminal = { stdin: Readable.from([options.stdin ?? '']), stdout: into('stdout'), stderr: into('stderr') };
  const code = await runCommandLine(args, terminal, settings(service, options));
  observe(printed.stdout);
  return { code, ...printed };
}

/** The same by bin/gatehouse, as a process that also has to end by itself. */
export async function runCommandProcess(
  service: Place,
  args: string[],
  options: CommandOptions = {},
): Promise<Finished> {
  const child = spawn(launcher, args, {
    env: { ...surroundings, ...settings(service, options) },
    stdio: 'pipe',
  });
  // a command that reads no input may have ended before the input is sent
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.stdin ?? '');
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ]);
  observe(stdout);
  return { code, stdout, stderr };
}
