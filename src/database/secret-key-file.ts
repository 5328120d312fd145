// Reads the secret keys of an installation without SECRET_KEY from its folder; the first start makes the first key.
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ConfigError } from '../config.ts';
import { makeFolder } from '../config/data-dir.ts';
import { secretKeys as secretKeysShape } from '../config/setting-types.ts';
import { randomSecret } from '../crypto/secrets.ts';

/**
 * The keys in DATA_DIR, which only its owner may read.
 * @param create makes the folder and the first key where there is none
 * @throws ConfigError
 */
export function keptSecretKeys(dataDir: string, create: boolean): readonly string[] {
  const file = path.join(dataDir, 'secret-key');
  if (create) makeDataFolder(dataDir);
  const text = read(file) ?? (create ? make(file) : undefined);
  if (text === undefined)
    throw new ConfigError(`The file ${file} is missing: restore it from a backup, or set SECRET_KEY.`);
  const keys = secretKeysShape.safeParse(text);
  if (!keys.success)
    throw new ConfigError(
      `The file ${file} does not contain secret keys: restore it from a backup, or set SECRET_KEY (it ${keys.error.issues[0]!.message}).`,
    );
  return keys.data;
}

const remedy = 'name a folder that the user of the service can make and write to, or set DATABASE_URL and SECRET_KEY';

function makeDataFolder(dataDir: string): void {
  try {
    makeFolder(dataDir);
  } catch (error) {
    const reason = `is not a folder and cannot be created (${(error as NodeJS.ErrnoException).code})`;
    throw new ConfigError(`The setting DATA_DIR is wrong: ${dataDir} ${reason}: ${remedy}.`, { cause: error });
  }
}

/** The text of the file; undefined if there is none. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unusable(file, 'read', error);
  }
}

/** Makes the file with the first key, or reads that of a concurrent start. */
function make(file: string): string | undefined {
  // a link appears with all bytes or not at all; of two concurrent starts one makes the file
  const draft = `${file}.${process.pid}`;
  try {
    writeFileSync(draft, `${randomSecret()}\n`, { flag: 'wx', mode: 0o600, flush: true });
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unusable(file, 'written', error);
  } finally {
    removeQuietly(draft);
  }
  return read(file);
}

/** In a folder of another user there is nothing to remove, and the error that matters is thrown already. */
function removeQuietly(draft: string): void {
  try {
    rmSync(draft, { force: true });
  } catch {
    // a draft that stays does no harm
  }
}

function unusable(file: string, what: 'read' | 'written', error: unknown): ConfigError {
  const { code } = error as NodeJS.ErrnoException;
  const advice =
    code === 'EACCES' || code === 'EPERM'
      ? ' (permission denied): run this as the user that owns the folder, or make this user its owner'
      : ` (${code}): ${remedy}`;
  return new ConfigError(`The setting DATA_DIR is wrong: ${file} cannot be ${what}${advice}.`, { cause: error });
}
