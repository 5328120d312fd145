// Runs the commands of the administrator, for sample applications that cannot register themselves.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const launcher = join(import.meta.dirname, '../bin/gatehouse');
const run = promisify(execFile);

/** A client, as the commands print it. */
export interface ListedClient {
  client_id: string;
  hosts?: string[];
  entity_id?: string;
  proxy_secret?: string;
}

/** @returns what the command printed as JSON */
export async function runCommand<T>(environment: NodeJS.ProcessEnv, ...args: string[]): Promise<T> {
  const { stdout } = await run(launcher, [...args, '--json'], { env: environment });
  // the caller knows which members the command prints
  return JSON.parse(stdout) as T;
}
