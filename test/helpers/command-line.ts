// The real command line as a process of its own, on the database of a running test service.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { observe } from './dump-search.ts';
import { surroundings } from './server-process.ts';
import type { TestService } from './service.ts';

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs src/cli.ts with these arguments. @param options.stdin what is piped in; undefined closes standard input */
export async function runCommand(
  service: Pick<TestService, 'issuer' | 'database' | 'secretKey'>,
  args: string[],
  options: { stdin?: string; environment?: Record<string, string> } = {},
): Promise<Finished> {
  const child = spawn(process.execPath, ['src/cli.ts', ...args], {
    env: {
      ...surroundings,
      BASE_URL: service.issuer,
      DATABASE_URL: service.database.url,
      SECRET_KEY: service.secretKey,
      ...options.environment,
    },
    stdio: 'pipe',
  });
  // a command that reads no input may be gone before it is sent
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
