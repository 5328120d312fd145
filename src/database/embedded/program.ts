// Runs PostgreSQL's programs: it sets the user, the folder and the environment, and explains a failure.
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import type { Account } from './account.ts';
import { EmbeddedPostgresError, errorCode } from './error.ts';

/** The environment of every child. It has nothing of the service's own environment, which may hold secrets. */
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/**
 * Starts a program as the account.
 * @param more variables besides those of every child
 * @throws EmbeddedPostgresError when the system refuses at once; a later refusal is the child's `error` event.
 */
export function spawnProgram(
  account: Account | undefined,
  program: string,
  args: string[],
  options: SpawnOptions,
  more: Record<string, string> = {},
): ChildProcess {
  try {
    return spawn(program, args, {
      ...options,
      env: { ...ENVIRONMENT, ...more },
      ...(account && { uid: account.uid, gid: account.gid }),
    });
  } catch (error) {
    throw programError(program, account, error);
  }
}

/**
 * How a child names its data directory. Another account may have no access to the folders above it (/root, or any folder
 * of mode 0700), but a child keeps access to the working directory that it inherits, for which Linux has a name.
 */
export function directoryArgument(account: Account | undefined, directory: string): string {
  return account && process.platform === 'linux' ? '/proc/self/cwd' : directory;
}

/** Explains to the operator that a program could not be started. */
export function programError(program: string, account: Account | undefined, error: unknown): EmbeddedPostgresError {
  const code = errorCode(error);
  const reason =
    code === 'ENOENT' && process.platform === 'linux'
      ? 'this system does not have the GNU C library that the program requires (Alpine Linux uses another one)'
      : account && (code === 'EPERM' || code === 'EINVAL')
        ? switchRefused(account)
        : (code ?? String(error));
  return new EmbeddedPostgresError(
    `The embedded PostgreSQL's program ${program} could not be started: ${reason}; or set DATABASE_URL.`,
    { cause: error },
  );
}

/** The reason why root could not run a program as the account. */
export function switchRefused(account: Account): string {
  return `root cannot switch to the user ${account.name} here; start the service as an unprivileged user`;
}
