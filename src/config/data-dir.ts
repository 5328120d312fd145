// Finds the folder of the embedded database: the one that DATA_DIR names, or `data` in the folder of the installation. It makes such folders.
import { mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const installationData = fileURLToPath(new URL('../../data', import.meta.url));

/** Whether a folder has an embedded database, or may have one that this user cannot see. */
export function holdsDatabase(dataDir: string): boolean {
  try {
    return statSync(join(dataDir, 'postgres', 'PG_VERSION')).isFile();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

export interface DataDir {
  folder: string;
  /** A line for the operator, if another folder is used than the documents say. */
  notice?: string;
  /** The sentence about DATA_DIR, if both folders hold a database. */
  conflict?: string;
}

/**
 * Where DATA_DIR is unset. Earlier versions used `data` in the current folder: it stays in use while it is the only one with a database.
 * @param installed, current the two folders
 */
export function usualDataDir(installed = installationData, current = resolve('data')): DataDir {
  if (!holdsDatabase(current) || isSame(installed, current)) return { folder: installed };
  if (holdsDatabase(installed))
    return {
      folder: installed,
      conflict: `is missing: there is a database in ${installed} and another one in ${current}, so name the folder of the one that you mean`,
    };
  return {
    folder: current,
    notice: `DATA_DIR is unset, and only ${current} holds a database, so it is used: set DATA_DIR to keep it, or move the folder to ${installed}.`,
  };
}

/** Makes a folder of its owner alone, and those above it. Node's recursive mkdir never ends where the system refuses with ENOENT. */
export function makeFolder(folder: string, retry = true): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return;
    const above = dirname(folder);
    if (code !== 'ENOENT' || !retry || folder === above) throw error;
    makeFolder(above);
    makeFolder(folder, false);
  }
}

function isSame(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}
