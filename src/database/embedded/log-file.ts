// Opens, reads and shortens the server's log, DATA_DIR/postgres.log.
import { constants } from 'node:fs';
import { copyFile, open, rm, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';

/** Bytes after which the log is moved to postgres.log.1. */
const LIMIT = 4 * 1024 * 1024;

export function logPath(dataDir: string): string {
  return path.join(dataDir, 'postgres.log');
}

/**
 * Opens the log for appending. It follows no links: the owner of the folder must not choose where root writes.
 * @throws a file system error when the file cannot be opened.
 */
export async function openLog(dataDir: string): Promise<FileHandle> {
  const { O_APPEND, O_CREAT, O_RDWR, O_NOFOLLOW } = constants;
  const file = await open(logPath(dataDir), O_APPEND | O_CREAT | O_RDWR | O_NOFOLLOW, 0o600);
  try {
    if (process.getuid?.() === 0) {
      const { uid, gid } = await stat(dataDir);
      await file.chown(uid, gid); // so that the folder's owner can start the service later
    }
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Returns what was written to the log after `offset`, 256 KiB at most.
 * @throws a file system error when there is no log.
 */
export async function readLogFrom(dataDir: string, offset: number): Promise<string> {
  const file = await open(logPath(dataDir), constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { size } = await file.stat();
    const start = size < offset ? 0 : offset;
    const length = Math.min(size - start, 256 * 1024);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, start);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Copies a log that is too long and empties it in place, which does not disturb the server, since it only appends. */
export async function trimLog(dataDir: string, limit = LIMIT): Promise<void> {
  const file = await openLog(dataDir);
  try {
    if ((await file.stat()).size <= limit) return;
    const previous = `${logPath(dataDir)}.1`;
    await rm(previous, { force: true });
    await copyFile(logPath(dataDir), previous, constants.COPYFILE_EXCL);
    await file.truncate(0);
  } finally {
    await file.close();
  }
}
