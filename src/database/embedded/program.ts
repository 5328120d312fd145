// Running PostgreSQL's programs: as which user, in which folder, with what environment, and what to say when it fails.
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import type { Account } from './account.ts';
import { EmbeddedPostgresError, errorCode } from './error.ts';

/** What every child gets as its environment: nothing of the service's own, which may hold secrets. */
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/**
 * Starts a program as the account, with an environment of its own.
 * @throws EmbeddedPostgresError when that is refused at once; what is refused later is the child's `error` event.
 */
export function spawnProgram(
  account: Account | undefined,
  program: string,
  args: string[],
  options: SpawnOptions,
): ChildProcess {
  try {
    return spawn(program, args, {
      ...options,
      env: ENVIRONMENT,
      ...(account && { uid: account.uid, gid: account.gid }),
    });
  } catch (error) {
    throw programError(program, account, error);
  }
}

/**
 * How a child names its data directory. An account that is not ours may be shut out of the folders above it (/root, or
 * any folder of mode 0700), but the working directory that a child inherits stays open to it: Linux has a name for that.
 */
export function directoryArgument(account: Account | undefined, directory: string): string {
  return account && process.platform === 'linux' ? '/proc/self/cwd' : directory;
}

/** The sentence for a program that could not be started at all. */
export function programError(program: string, account: Account | undefined, error: unknown): EmbeddedPostgresError {
  const code = errorCode(error);
  const reason =
    code === 'ENOENT' && process.platform === 'linux'
      ? 'this system has no GNU C library, which the program needs (Alpine Linux has another one)'
      : account && (code === 'EPERM' || code === 'EINVAL')
        ? switchRefused(account)
        : (code ?? String(error));
  return new EmbeddedPostgresError(
    `The embedded PostgreSQL's program ${program} could not be started: ${reason}; or set DATABASE_URL.`,
    { cause: error },
  );
}

/** Why root could not run something as the account. */
export function switchRefused(account: Account): string {
  return `root may not switch to the user ${account.name} here; start the service as an unprivileged user`;
}
