// Reads a copy of DATA_DIR: it starts the database on a copy of that copy, and finds in it what a restore needs to know.
import { chmodSync, cpSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../database/database.ts';
import { EmbeddedPostgresError, startEmbeddedPostgres } from '../database/embedded.ts';
import { keptSecretKeys } from '../database/secret-key-file.ts';
import { createStore } from '../repositories/store.ts';
import { UsageError } from './command.ts';
import type { DumpFacts } from './dump.ts';

/** Facts of a copy, which has its own keys. */
export interface FolderFacts extends DumpFacts {
  /** The keys of its file `secret-key`; undefined if it has none. */
  kept: readonly string[] | undefined;
}

/** Whether a folder is DATA_DIR or a copy of it. */
export const isDataFolder = (folder: string): boolean => existsSync(join(folder, 'postgres', 'PG_VERSION'));

/** @throws UsageError with one sentence */
export async function readDataFolder(folder: string): Promise<FolderFacts> {
  const directory = join(folder, 'postgres');
  if (existsSync(join(directory, 'postmaster.pid')) || !(await wasShutDown(directory)))
    throw new UsageError(
      `The folder ${folder} is not the copy of a database that was stopped: stop the service, copy DATA_DIR, and start the service again.`,
    );
  const kept = existsSync(join(folder, 'secret-key')) ? keptSecretKeys(folder, false) : undefined;
  const place = mkdtempSync(join(tmpdir(), 'gatehouse-backup-'));
  try {
    // the server has its own user, where root runs this command
    chmodSync(place, 0o711);
    const data = join(place, 'data');
    cpSync(directory, join(data, 'postgres'), { recursive: true, verbatimSymlinks: true });
    return { ...(await factsIn(data)), madeAt: statSync(join(directory, 'global', 'pg_control')).mtime, kept };
  } catch (error) {
    if (!(error instanceof EmbeddedPostgresError)) throw error;
    throw new UsageError(`The database in ${folder} does not start, so it cannot be restored: ${error.message}`);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

async function factsIn(dataDir: string): Promise<Omit<DumpFacts, 'madeAt'>> {
  const server = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  const database = openDatabase({
    connection: { ...server.connection, ssl: false },
    poolSize: 2,
    onError: () => undefined,
  });
  try {
    const store = createStore(database);
    const [migrations, keyIds, service] = await Promise.all([
      store.doctorView.migrations(),
      store.sealedValues.keyIds(),
      store.serviceSettings.read(),
    ]);
    const issuer = service?.settings['BASE_URL'];
    return { migrations, keyIds, issuer, version: service?.version, size: undefined };
  } finally {
    await database.close();
    await server.stop();
  }
}

/** Where pg_control has the state of the database, and the number that means that the server was stopped in order. */
const control = { offset: 16, shutDown: 1 };

async function wasShutDown(directory: string): Promise<boolean> {
  const file = await open(join(directory, 'global', 'pg_control'));
  try {
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, control.offset);
    return buffer.readInt32LE() === control.shutDown;
  } finally {
    await file.close();
  }
}
