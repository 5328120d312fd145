// Makes a new cluster: initdb fills a draft folder, which is then renamed, so that a kill or a concurrent start does no harm.
import type { SpawnOptions } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import { EmbeddedPostgresError, errorCode } from './error.ts';
import { directoryArgument, programError, spawnProgram, switchRefused } from './program.ts';

/** A cluster whose folder initdb has not filled yet. */
interface Uninitialised {
  dataDir: string;
  directory: string;
  account: Account | undefined;
  binaries: Binaries;
}

/**
 * Defaults for a small machine, which initdb writes to postgresql.conf, so that an operator can tune them there.
 * io_method=sync saves three worker processes, which a database that fits in memory does not need.
 */
const TUNABLE = {
  max_connections: '100',
  shared_buffers: '64MB',
  maintenance_work_mem: '32MB',
  effective_cache_size: '256MB',
  max_worker_processes: '4',
  io_method: 'sync',
  jit: 'off',
  log_checkpoints: 'off',
};

const INITDB = [
  '--username=postgres',
  '--auth-local=trust', // only the owner of DATA_DIR and root can reach the socket
  '--auth-host=reject',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--data-checksums',
  '--no-instructions',
  ...Object.entries(TUNABLE).map(([name, value]) => `--set=${name}=${value}`),
];

/** The library that reads the names of users from another file than /etc/passwd. The image contains it. */
const WRAPPER = 'libnss_wrapper.so';
const DRAFT_PREFIX = 'postgres.initdb-';
const DRAFT_MAX_AGE_MS = 10 * 60_000;
/** Attempts, since another process may remove the draft. */
const MAX_ROUNDS = 4;
const INITDB_TIMEOUT_MS = 180_000;
/** The drafts that this process is filling. */
const ownDrafts = new Set<string>();

/**
 * Makes the cluster unless it exists. DATA_DIR must exist.
 * @throws EmbeddedPostgresError when initdb fails, or a file system error.
 */
export async function initialise(cluster: Uninitialised): Promise<void> {
  await removeAbandonedDrafts(cluster.dataDir);
  for (let round = 1; !(await exists(path.join(cluster.directory, 'PG_VERSION'))); round++) {
    if (await hasEntries(cluster.directory)) {
      throw new EmbeddedPostgresError(
        `The folder ${cluster.directory} contains something other than a PostgreSQL cluster: move it away, choose another DATA_DIR, or set DATABASE_URL.`,
      );
    }
    await initialiseDraft(cluster, round === MAX_ROUNDS);
  }
}

/**
 * Runs initdb in a sibling folder and renames that, so that a kill leaves no incomplete cluster, and of several
 * concurrent processes exactly one wins.
 */
async function initialiseDraft(
  { dataDir, directory, account, binaries }: Uninitialised,
  lastRound: boolean,
): Promise<void> {
  const name = `${DRAFT_PREFIX}${process.pid}-${randomBytes(6).toString('hex')}`;
  const draft = path.join(dataDir, name);
  ownDrafts.add(name);
  try {
    await mkdir(draft, { mode: 0o700 });
    if (account) await giveTo(account, draft);
    await runInitdb(binaries.initdb, draft, account);
    await rename(draft, directory);
    await syncFolder(dataDir);
  } catch (error) {
    // ENOTEMPTY: another process has won. ENOENT: another process removed the draft, so the next attempt repeats it.
    if (lastRound || !['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(errorCode(error) ?? '')) throw error;
  } finally {
    await rm(draft, { recursive: true, force: true, maxRetries: 5 });
    ownDrafts.delete(name);
  }
}

async function runInitdb(program: string, draft: string, account: Account | undefined): Promise<void> {
  const names = account || hasUserName() ? undefined : `${draft}.names`;
  try {
    const naming = names === undefined ? {} : await nameUser(names);
    const options: SpawnOptions = { cwd: draft, stdio: ['ignore', 'pipe', 'pipe'], timeout: INITDB_TIMEOUT_MS };
    const args = ['-D', directoryArgument(account, draft), ...INITDB];
    const child = spawnProgram(account, program, args, options, naming);
    const exit = once(child, 'exit').catch((error: unknown) => {
      throw programError(program, account, error);
    });
    const [[code], output, complaints] = await Promise.all([exit, text(child.stdout!), text(child.stderr!)]);
    if (code === 0) return;
    if (!(await exists(draft))) throw Object.assign(new Error('the draft is gone'), { code: 'ENOENT' });
    throw initdbError(draft, `${output}\n${complaints}`);
  } finally {
    if (names !== undefined) await rm(names, { recursive: true, force: true, maxRetries: 5 });
  }
}

function initdbError(draft: string, said: string): EmbeddedPostgresError {
  if (/could not look up effective user ID/.test(said))
    return new EmbeddedPostgresError(
      `The user id ${process.getuid?.()} has no entry in /etc/passwd, which the embedded PostgreSQL needs: install ${WRAPPER} (Debian's package libnss-wrapper), add an entry, run the service as another user, or set DATABASE_URL.`,
      { cause: said },
    );
  const lines = said.split('\n').map((line) => line.trim());
  const reason =
    lines.find((line) => /error|fatal/i.test(line)) ?? lines.findLast((line) => line !== '') ?? 'no reason given';
  return new EmbeddedPostgresError(
    `The embedded PostgreSQL could not be initialised in DATA_DIR (${path.dirname(draft)}): ${reason}; fix the problem, or set DATABASE_URL.`,
    { cause: said },
  );
}

/** initdb needs the name of its user, but an arbitrary user id in a container has no name. */
function hasUserName(): boolean {
  try {
    userInfo();
    return true;
  } catch {
    return false;
  }
}

/**
 * Names this process's user in a file of its own. Where the library is missing, the loader goes on without it.
 * @returns the variables by which initdb reads the file
 */
async function nameUser(folder: string): Promise<Record<string, string>> {
  const [passwd, group] = [path.join(folder, 'passwd'), path.join(folder, 'group')];
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  await mkdir(folder, { mode: 0o700 });
  await writeFile(passwd, `gatehouse:x:${uid}:${gid}::/:/sbin/nologin\n`);
  await writeFile(group, `gatehouse:x:${gid}:\n`);
  return { LD_PRELOAD: WRAPPER, NSS_WRAPPER_PASSWD: passwd, NSS_WRAPPER_GROUP: group };
}

/** Removes the drafts of killed processes. Those of live processes stay. */
async function removeAbandonedDrafts(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(DRAFT_PREFIX) || ownDrafts.has(name.replace(/\.names$/, ''))) continue;
    const draft = path.join(dataDir, name);
    const maker = Number(name.slice(DRAFT_PREFIX.length).split('-')[0]);
    const age = Date.now() - ((await stat(draft).catch(() => undefined))?.mtimeMs ?? 0);
    if (maker !== process.pid && isAlive(maker) && age < DRAFT_MAX_AGE_MS) continue;
    // An orphaned initdb may still be writing there: the next start removes the rest.
    await rm(draft, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** Gives a new folder to the account that runs the server. It takes the same rights as starting the server. */
async function giveTo(account: Account, folder: string): Promise<void> {
  await chown(folder, account.uid, account.gid).catch((error: unknown) => {
    if (!['EPERM', 'EINVAL'].includes(errorCode(error) ?? '')) throw error;
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL must not run as root, and ${switchRefused(account)}, or set DATABASE_URL.`,
      { cause: error },
    );
  });
}

/** Flushes the folder, so that a rename in it survives a power failure. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function exists(target: string): Promise<boolean> {
  return await stat(target).then(
    () => true,
    (error: unknown) => {
      if (errorCode(error) === 'ENOENT') return false;
      throw error;
    },
  );
}

async function hasEntries(folder: string): Promise<boolean> {
  return (await readdir(folder).catch(() => [])).length > 0;
}
