// Prepares the cluster's files: DATA_DIR, the folder DATA_DIR/postgres that initdb fills, its owner, and the socket's link.
import { randomBytes } from 'node:crypto';
import { chmod, chown, lchown, readdir, readlink, rename, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../../config/data-dir.ts';
import { serverAccount, type Account } from './account.ts';
import { findBinaries, type Binaries } from './binaries.ts';
import { EmbeddedPostgresError, errorCode } from './error.ts';
import { initialise } from './initdb.ts';

export const PORT = 5432;
const SOCKET = `.s.PGSQL.${PORT}`;

/** What stays the same while the server stops and starts. */
export interface Cluster {
  /** Absolute DATA_DIR. */
  readonly dataDir: string;
  /** DATA_DIR/postgres, the PostgreSQL data directory; the socket is in it, and DATA_DIR holds a link to the socket. */
  readonly directory: string;
  /** Identifies the processes of this cluster in the process list. It is made of the folder's inode, so it survives a move. */
  readonly name: string;
  /** The account that runs the server, when it is not the one of this process. */
  readonly account: Account | undefined;
  readonly binaries: Binaries;
}

/**
 * Makes DATA_DIR and an initialised cluster in it unless they exist.
 * @throws EmbeddedPostgresError when the folder cannot be used, there is no server for this platform, or initdb fails.
 */
export async function openCluster(dataDir: string, log: (line: string) => void): Promise<Cluster> {
  const directory = path.join(dataDir, 'postgres');
  try {
    makeFolder(dataDir);
    const account = await serverAccount(dataDir, directory);
    const binaries = await findBinaries(account, log);
    await initialise({ dataDir, directory, account, binaries });
    await repairOwner(directory, account);
    await linkSocket(dataDir);
    const { dev, ino } = await stat(directory, { bigint: true });
    return { dataDir, directory, account, binaries, name: `gatehouse-${dev.toString(16)}-${ino.toString(16)}` };
  } catch (error) {
    throw error instanceof EmbeddedPostgresError ? error : folderError(dataDir, error);
  }
}

/** Explains a file system error in DATA_DIR to the operator. */
export function folderError(dataDir: string, error: unknown): EmbeddedPostgresError {
  const reason =
    {
      EACCES: 'permission denied; make the user that runs the service its owner',
      EPERM: 'permission denied; make the user that runs the service its owner',
      EROFS: 'it is on a read-only file system',
      ENOSPC: 'the disk is full',
      ENOTDIR: 'a part of that path is not a folder',
      EEXIST: 'a part of that path is not a folder',
    }[errorCode(error) ?? ''] ?? (error instanceof Error ? error.message : String(error));
  return new EmbeddedPostgresError(
    `The embedded PostgreSQL cannot store its data in DATA_DIR (${dataDir}): ${reason}; or choose another DATA_DIR, or set DATABASE_URL.`,
    { cause: error },
  );
}

/** PostgreSQL requires that it owns its folder, and mode 0700. A copied or restored DATA_DIR may belong to root. */
async function repairOwner(directory: string, account: Account | undefined): Promise<void> {
  const { uid, mode } = await stat(directory);
  if (account && uid === 0) {
    for (const entry of await readdir(directory, { recursive: true })) {
      await lchown(path.join(directory, entry), account.uid, account.gid);
    }
    await chown(directory, account.uid, account.gid);
  } else if (!account && uid !== process.getuid?.()) {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL's data in ${directory} belongs to another user (id ${uid}): start the service as that user or as root, or make this user the owner of the folder and its content.`,
    );
  }
  if ((mode & 0o777) !== 0o700) await chmod(directory, 0o700);
}

/**
 * Makes DATA_DIR/.s.PGSQL.5432, where clients look, a link to the socket. The socket itself is in the only folder that the
 * server's account can certainly write to.
 */
async function linkSocket(dataDir: string): Promise<void> {
  const link = path.join(dataDir, SOCKET);
  const target = path.join('postgres', SOCKET);
  if ((await readlink(link).catch(() => undefined)) === target) return;
  const draft = `${link}.${randomBytes(6).toString('hex')}`;
  await symlink(target, draft);
  await rename(draft, link);
}
