// Opens the database that the settings name, the embedded one included, and reads the secret keys that belong to it.
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Config, ConfigError } from '../config.ts';
import { secretKeys as secretKeysShape } from '../config/setting-types.ts';
import { randomSecret } from '../crypto/secrets.ts';
import { type Database, openDatabase } from './database.ts';
import { startEmbeddedPostgres } from './embedded.ts';
import { carryOverDataKeys } from './data-key-carry-over.ts';
import { migrate, MigrationError } from './migrations.ts';

export interface Connection {
  kind: 'embedded' | 'external';
  /** The driver's options for a connection to the server itself: the embedded one's socket, DATABASE_DIRECT_URL, or DATABASE_URL. */
  options: { connectionString: string } | { host: string; port: number; user: string; database: string; ssl: boolean };
  database: Database;
  /** The keys of SECRET_KEY or of the file in DATA_DIR. The first one encrypts. */
  secretKeys: readonly string[];
  /** Brings the schema up to date and returns the migrations that ran. @throws MigrationError */
  migrate(): Promise<string[]>;
  close(): Promise<void>;
}

const restartPause = 1_000; // milliseconds
const reachPause = 500; // milliseconds
/** Codes of errors that the operator can correct: unknown server or database, refused, no right to create tables, full or starting. */
const correctable = /^(E[A-Z_]+|08...|28...|3D...|42501|53...|57P..)$/;
/** Codes of errors that may pass without a change of the settings. A timeout, and a connection that ends at once, have no code. */
const transient = /^(|ECONN[A-Z]+|E(HOST|NET)(UNREACH|DOWN)|ETIMEDOUT|EPIPE|EAI_AGAIN|ENOENT|08...|53...|57P..)$/;

/** @throws ConfigError or EmbeddedPostgresError */
export async function openConnection(config: Config, logger: Logger): Promise<Connection> {
  // not the error itself, to which the driver attaches its whole client
  const onError = ({ code, message: reason }: NodeJS.ErrnoException) =>
    logger.warn({ code, reason }, 'a database connection was lost');
  const carryOver = (secretKeys: readonly string[]) => carryOverDataKeys(secretKeys, (line) => logger.info(line));
  if (config.databaseUrl !== undefined) {
    const direct = config.databaseDirectUrl === undefined ? undefined : { connectionString: config.databaseDirectUrl };
    const connection = { connectionString: config.databaseUrl };
    const { databasePoolSize: poolSize, databasePrepared: prepared } = config;
    const database = openDatabase({ connection, direct, prepared, poolSize, onError });
    const options = direct ?? connection;
    const secretKeys = config.secretKeys!;
    return {
      ...{ kind: 'external', options, database, secretKeys },
      migrate: () => migrate(options, { beforeAdoption: carryOver(secretKeys) }),
      close: () => database.close(),
    };
  }
  const secretKeys = config.secretKeys ?? keptSecretKeys(config.dataDir);
  const embedded = await startEmbeddedPostgres({ dataDir: config.dataDir, log: (line) => logger.info(line) });
  let closing = false;
  const restart = async () => {
    while (!closing) {
      try {
        await embedded.ensureRunning();
        return;
      } catch (error) {
        logger.fatal({ err: error }, 'the embedded PostgreSQL server did not start; retrying');
        await delay(restartPause, undefined, { ref: false });
      }
    }
  };
  embedded.onExit(() => {
    logger.error('the embedded PostgreSQL server stopped; restarting it');
    void restart();
  });
  // the server has no TLS on its socket, but environment variables of the driver could demand it
  const options = { ...embedded.connection, ssl: false };
  const database = openDatabase({ connection: options, poolSize: config.databasePoolSize, onError });
  return {
    kind: 'embedded',
    options,
    database,
    secretKeys,
    migrate: () => migrate(options, { beforeAdoption: carryOver(secretKeys) }),
    async close() {
      closing = true;
      await database.close();
      await embedded.stop();
    },
  };
}

/**
 * Brings the schema up to date and returns the migrations that ran. It waits up to DATABASE_WAIT for a database that does not answer
 * yet, because it starts later or fails over just then (security R109).
 * @throws ConfigError with a sentence that names the setting, or MigrationError
 */
export async function migrateOnceReachable(
  connection: Connection,
  config: Config,
  logger: Logger,
  stopped?: AbortSignal,
): Promise<string[]> {
  const end = performance.now() + config.databaseWait * 1000;
  for (let warned = false; ; warned = true) {
    try {
      return await connection.migrate();
    } catch (error) {
      if (connection.kind === 'embedded' || error instanceof MigrationError || !(error instanceof Error)) throw error;
      // when a name has several addresses, the error of the first one is enough
      const { code = '', message } = ((error as AggregateError).errors?.[0] ?? error) as NodeJS.ErrnoException;
      if (code !== '' && !correctable.test(code)) throw error;
      const sentence = `The database of DATABASE_URL cannot be used: ${message}.`;
      if (!transient.test(code) || performance.now() > end) throw new ConfigError(sentence, { cause: error });
      if (!warned) logger.warn(`${sentence} Waiting for it for up to ${config.databaseWait} seconds.`);
      await delay(reachPause, undefined, { signal: stopped });
    }
  }
}

/** The keys in DATA_DIR, which only its owner may read. The first start makes the first key. */
function keptSecretKeys(dataDir: string): readonly string[] {
  const file = path.join(dataDir, 'secret-key');
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(
      `The setting DATA_DIR is wrong: ${dataDir} is not a folder and cannot be created (${code}).`,
      {
        cause: error,
      },
    );
  }
  if (!existsSync(file)) {
    // a link appears with all bytes or not at all; of two concurrent starts one makes the file
    const draft = `${file}.${process.pid}`;
    try {
      writeFileSync(draft, `${randomSecret()}\n`, { flag: 'wx', mode: 0o600, flush: true });
      linkSync(draft, file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw new ConfigError(`The setting DATA_DIR is wrong: ${file} cannot be written.`, { cause: error });
      }
    } finally {
      rmSync(draft, { force: true });
    }
  }
  const keys = secretKeysShape.safeParse(readFileSync(file, 'utf8'));
  if (!keys.success)
    throw new ConfigError(
      `The file ${file} does not contain secret keys: restore it from a backup, or set SECRET_KEY (it ${keys.error.issues[0]!.message}).`,
    );
  return keys.data;
}
