// Opens the database that the settings name, the embedded one included, and finds the secret key that goes with it.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Logger } from 'pino';
import { type Config, ConfigError } from './config.ts';
import { randomSecret } from './crypto/secrets.ts';
import { type Database, openDatabase } from './database/database.ts';
import { startEmbeddedPostgres } from './database/embedded.ts';

export interface Connection {
  kind: 'embedded' | 'external';
  /** For the driver: the embedded server's socket, or DATABASE_URL. */
  options: { connectionString: string } | { host: string; port: number; user: string; database: string };
  database: Database;
  secretKey: string;
  close(): Promise<void>;
}

/** @throws ConfigError or EmbeddedPostgresError */
export async function openConnection(config: Config, logger: Logger): Promise<Connection> {
  const onError = (error: Error) => logger.warn({ err: error }, 'a database connection was lost');
  if (config.databaseUrl !== undefined) {
    const options = { connectionString: config.databaseUrl };
    const database = openDatabase({ connection: options, poolSize: config.databasePoolSize, onError });
    return { kind: 'external', options, database, secretKey: config.secretKey!, close: () => database.close() };
  }
  const secretKey = config.secretKey ?? keptSecretKey(config.dataDir);
  const embedded = await startEmbeddedPostgres({ dataDir: config.dataDir, log: (line) => logger.info(line) });
  embedded.onExit(() => {
    logger.error('the embedded PostgreSQL server ended; starting it again');
    embedded
      .ensureRunning()
      .catch((error: unknown) => logger.fatal({ err: error }, 'the embedded PostgreSQL server does not start'));
  });
  const database = openDatabase({ connection: embedded.connection, poolSize: config.databasePoolSize, onError });
  return {
    kind: 'embedded',
    options: embedded.connection,
    database,
    secretKey,
    async close() {
      await database.close();
      await embedded.stop();
    },
  };
}

/** The key in DATA_DIR, made on the first start; readable by its owner only. */
function keptSecretKey(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = path.join(dataDir, 'secret-key');
  try {
    // fails when it exists: of two starts at once one makes it
    writeFileSync(file, `${randomSecret()}\n`, { flag: 'wx', mode: 0o600, flush: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw new ConfigError(`The setting DATA_DIR is wrong: ${file} cannot be written.`, { cause: error });
    }
    chmodSync(file, 0o600);
  }
  const key = readFileSync(file, 'utf8').trim();
  if (Buffer.from(key, 'base64url').length !== 32) {
    throw new ConfigError(`The file ${file} does not hold a secret key: restore it from a backup, or set SECRET_KEY.`);
  }
  return key;
}
