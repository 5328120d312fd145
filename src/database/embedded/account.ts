// Finds the operating system account that runs the server when the service runs as root, which PostgreSQL refuses.
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { EmbeddedPostgresError } from './error.ts';

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** In order of preference: Gatehouse's account, PostgreSQL's accounts, and accounts of every system. */
const PREFERRED = ['gatehouse', 'postgres', '_postgres', 'nobody', 'daemon'];

/**
 * The account to run the server as, or undefined when this process is not root and runs it as itself.
 * An existing cluster keeps its owner. Without a cluster the owner of the data folder is taken unless it is root, so that a
 * service works both as root and as that owner.
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
    // Only initdb needs an account with a name: an existing cluster does not.
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

/** The unprivileged accounts of /etc/passwd, without the negative ids of macOS, to which Node cannot change owners. */
async function accounts(): Promise<Account[]> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '');
  return text
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ name, uid, gid }) => name !== '' && uid > 0 && uid < 2 ** 31 && gid >= 0 && gid < 2 ** 31);
}

/** Whether the modes let the account read and execute this file or folder, and pass all folders above it. */
export async function canUse(account: Account, target: string): Promise<boolean> {
  for (let current = target, need = 0o5; ; current = path.dirname(current), need = 0o1) {
    const { mode, uid, gid } = await stat(current);
    const bits = uid === account.uid ? mode >> 6 : gid === account.gid ? mode >> 3 : mode;
    if ((bits & need) !== need) return false;
    if (current === path.dirname(current)) return true;
  }
}
