// Makes the folder of the throwaway database: in memory where the system has it, from a copy of the migrated schema once one was made (delivery 5).
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { access, constants, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, statfs } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { installedVersion } from '../config/version.ts';
import { openServiceDatabase } from '../database/service-database.ts';

const memory = '/dev/shm';
/** Bytes that a database of tests needs at most. */
const room = 512 * 1024 * 1024;
const prefix = 'gatehouse-dev-';
const migrations = fileURLToPath(new URL('../../migrations', import.meta.url));

/** Makes an empty folder, which is named after this process. */
export async function makeThrowaway(): Promise<string> {
  const inMemory = await access(memory, constants.W_OK).then(
    async () => {
      const { bavail, bsize } = await statfs(memory);
      return bavail * bsize > room;
    },
    () => false,
  );
  const parent = inMemory ? memory : tmpdir();
  await removeAbandoned(parent);
  return mkdtemp(join(parent, `${prefix}${process.pid}-`));
}

/** Removes the folders of processes that were killed, with their servers. */
async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(/^gatehouse-dev-(\d+)-/.exec(name)?.[1]);
    const folder = join(parent, name);
    if (!pid || isAlive(pid) || (await stat(folder).catch(() => undefined))?.uid !== process.getuid?.()) continue;
    await removeThrowaway(folder);
  }
}

/** Removes a folder, and ends the server in it if it still runs. */
export async function removeThrowaway(folder: string): Promise<void> {
  const pid = Number((await readFile(join(folder, 'postgres/postmaster.pid'), 'utf8').catch(() => '')).split('\n')[0]);
  if (pid > 1 && isServerOf(pid, folder)) signal(pid, 'SIGQUIT');
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}

/** Whether a process is the server of this folder, and no later one with its number. */
function isServerOf(pid: number, folder: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder);
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  return signal(pid, 0);
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Fills the folder with a database that has the schema and nothing else. The first start of a version makes the copy for the others, in the
 * cache of the user; where that cannot be written, each start makes its own schema.
 */
export async function fillThrowaway(config: Config, folder: string, logger: Logger): Promise<void> {
  const cache = join(
    process.platform === 'darwin' ? join(homedir(), 'Library/Caches') : join(homedir(), '.cache'),
    'gatehouse-dev',
  );
  const kept = join(cache, await schemaKey());
  try {
    if (await isOwn(kept)) return await copy(join(kept, 'postgres'), folder);
    const opened = await openServiceDatabase(config, logger);
    try {
      await opened.migrate();
    } finally {
      await opened.close();
    }
    await keepCopy(cache, kept, folder);
  } catch (error) {
    // a copy is never needed: the start makes what is missing
    logger.info({ err: error }, 'the schema is not kept for later starts');
    if (!(await isOwn(join(folder, 'postgres')))) await rm(join(folder, 'postgres'), { recursive: true, force: true });
  }
}

async function keepCopy(cache: string, kept: string, folder: string): Promise<void> {
  await mkdir(cache, { recursive: true, mode: 0o700 });
  const draft = `${kept}.${randomBytes(6).toString('hex')}`;
  await mkdir(draft, { mode: 0o700 });
  await copy(join(folder, 'postgres'), draft);
  await rename(draft, kept).catch(() => rm(draft, { recursive: true, force: true }));
  // those of former versions
  for (const name of await readdir(cache))
    if (join(cache, name) !== kept && !name.includes('.'))
      await rm(join(cache, name), { recursive: true, force: true });
}

async function isOwn(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => undefined);
  return found !== undefined && (found.uid === process.getuid?.() || process.getuid?.() === 0);
}

/** Copies a folder into another one with its rights; the program of the system takes a tenth of the time that Node takes. */
async function copy(from: string, into: string): Promise<void> {
  const child = spawn('cp', ['-a', from, into], { stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`cp ended with ${code}`);
}

/** Changes with each migration, the version and the platform. */
async function schemaKey(): Promise<string> {
  const hash = createHash('sha256').update(
    `${installedVersion()} ${process.platform} ${process.arch} ${process.getuid?.()}`,
  );
  for (const name of (await readdir(migrations, { recursive: true })).sort())
    if (name.endsWith('.sql')) hash.update(name).update(await readFile(join(migrations, name)));
  return hash.digest('hex').slice(0, 16);
}
