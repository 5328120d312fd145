// Which operating system account runs the server when the service itself runs as root, which PostgreSQL refuses.
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { EmbeddedPostgresError } from './error.ts';

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** In order of preference: our own account, PostgreSQL's own ones, and those that every system has. */
const PREFERRED = ['gatehouse', 'postgres', '_postgres', 'nobody', 'daemon'];

/**
 * The account to run the server as, or undefined when this process is not root and runs it as itself.
 * An existing cluster keeps its owner, and a data folder that belongs to somebody decides for them, so that a service
 * which runs once as root and once as that user works both times.
 * @throws EmbeddedPostgresError when the system has no unprivileged account.
 */
export async function serverAccount(dataDir: string, clusterDir: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const known = await accounts();
  for (const [folder, mustBeKnown] of [
    [clusterDir, false],
    [dataDir, true],
  ] as const) {
    const owner = await stat(folder).catch(() => undefined);
    if (owner === undefined || owner.uid === 0) continue;
    const account = known.find(({ uid }) => uid === owner.uid);
    if (account !== undefined) return account;
    // Only initdb insists that the account has a name: a cluster that exists can do without.
    if (!mustBeKnown) return { name: String(owner.uid), uid: owner.uid, gid: owner.gid };
  }
  for (const name of PREFERRED) {
    const account = known.find((candidate) => candidate.name === name);
    if (account !== undefined) return account;
  }
  throw new EmbeddedPostgresError(
    'The embedded PostgreSQL must not run as root and found no other account: add a user named "gatehouse", start the service as another user, or set DATABASE_URL.',
  );
}

/** The unprivileged accounts of /etc/passwd; negative ids (macOS) are left out, since Node cannot change owners to them. */
async function accounts(): Promise<Account[]> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '');
  return text
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ name, uid, gid }) => name !== '' && uid > 0 && uid < 2 ** 31 && gid >= 0 && gid < 2 ** 31);
}

/** Whether the account may use this file or folder (read and execute) and pass all folders above it, by their modes. */
export async function canUse(account: Account, target: string): Promise<boolean> {
  for (let current = target, need = 0o5; ; current = path.dirname(current), need = 0o1) {
    const { mode, uid, gid } = await stat(current);
    const bits = uid === account.uid ? mode >> 6 : gid === account.gid ? mode >> 3 : mode;
    if ((bits & need) !== need) return false;
    if (current === path.dirname(current)) return true;
  }
}
