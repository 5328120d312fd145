// Opens the database that the settings name, the embedded one included, and reads the secret keys that belong to it.
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Config, ConfigError } from '../config.ts';
import { holdsDatabase } from '../config/data-dir.ts';
import { type AddressOptions, optionsOf } from './address.ts';
import { type Database, isOfServer, openDatabase } from './database.ts';
import { startEmbeddedPostgres } from './embedded.ts';
import { migrate, MigrationError } from './migrations.ts';
import { keptSecretKeys } from './secret-key-file.ts';

export interface ServiceDatabase {
  kind: 'embedded' | 'external';
  /** The driver's options for a connection to the server itself: the embedded one's socket, DATABASE_DIRECT_URL, or DATABASE_URL. */
  options: AddressOptions | { host: string; port: number; user: string; database: string; ssl: boolean };
  database: Database;
  /** The keys of SECRET_KEY or of the file in DATA_DIR. The first one encrypts. */
  secretKeys: readonly string[];
  /** For the embedded one, if no other process used it when this one came: the time then. Each instance from before was killed. */
  aloneSince: Date | undefined;
  /** Brings the schema up to date and returns the migrations that ran. @throws MigrationError, also for an empty database without `create` */
  migrate(options?: { create: boolean }): Promise<string[]>;
  close(): Promise<void>;
}

const restartPause = 1_000; // milliseconds
const reachPause = 500; // milliseconds
/** SQLSTATEs of what the operator can correct: unknown role or database, no right, full or starting. Others are faults of a migration. */
const correctable = /^(08...|28...|3D...|42501|53...|57P..)$/;
/** Codes of errors that may pass without a change of the settings. A timeout, and a connection that ends at once, have no code. */
const transient = /^(|ECONN[A-Z]+|E(HOST|NET)(UNREACH|DOWN)|ETIMEDOUT|EPIPE|EAI_AGAIN|ENOENT|08...|53...|57P..)$/;

/** The database does not answer, or refuses the connection; the sentence names the setting. */
class DatabaseUnusable extends ConfigError {
  readonly isTransient: boolean;
  constructor(setting: string, code: string, cause: Error) {
    super(`The database of ${setting} cannot be used: ${cause.message}.`, { cause });
    // the driver's errors about TLS have no code either
    this.isTransient = transient.test(code) && !/\bSSL\b/.test(cause.message);
  }
}

interface OpenOptions {
  /** Whether it makes an embedded database where there is none, and waits for one that does not answer: only the start of the service does. */
  create?: boolean;
  /** Ends the wait. */
  stopped?: AbortSignal | undefined;
  /** That of the first process, which keeps the embedded server for its workers. */
  aloneSince?: Date | undefined;
}

/** @throws ConfigError or EmbeddedPostgresError */
export async function openServiceDatabase(
  config: Config,
  logger: Logger,
  { create = true, stopped, aloneSince }: OpenOptions = {},
): Promise<ServiceDatabase> {
  // not the error itself, to which the driver attaches its whole client
  const onError = ({ code, message: reason }: NodeJS.ErrnoException) =>
    logger.warn({ code, reason }, 'a database connection was lost');
  if (config.databaseUrl !== undefined) {
    const wait = create ? config.databaseWait * 1000 : 0;
    const connection = await optionsOf(config.databaseUrl, wait, stopped);
    const direct =
      config.databaseDirectUrl === undefined ? undefined : await optionsOf(config.databaseDirectUrl, wait, stopped);
    const { databasePoolSize: poolSize, databasePrepared: prepared } = config;
    const database = openDatabase({ connection, direct, prepared, poolSize, onError });
    const options = direct ?? connection;
    const secretKeys = config.secretKeys!;
    const setting = direct ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL';
    return {
      kind: 'external',
      options,
      database,
      secretKeys,
      aloneSince: undefined,
      migrate: (how) =>
        migrate(options, how).catch((error: unknown) => {
          throw unusable(setting, error);
        }),
      close: () => database.close(),
    };
  }
  if (!create) requireDatabase(config.dataDir);
  const secretKeys = config.secretKeys ?? keptSecretKeys(config.dataDir, create);
  const begin = new Date();
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
    aloneSince: embedded.origin === 'joined' ? aloneSince : begin,
    migrate: (how) => migrate(options, how),
    async close() {
      closing = true;
      await database.close();
      await embedded.stop();
    },
  };
}

/** Explains an error of the connection or the server; returns a fault of our own unchanged. */
function unusable(setting: string, error: unknown): unknown {
  if (error instanceof MigrationError || error instanceof ConfigError || !(error instanceof Error)) return error;
  // when a name has several addresses, the error of the first one is enough
  const cause = ((error as AggregateError).errors?.[0] ?? error) as NodeJS.ErrnoException;
  const { code = '' } = cause;
  return isOfServer(cause) && !correctable.test(code) ? error : new DatabaseUnusable(setting, code, cause);
}

/**
 * Brings the schema up to date and returns the migrations that ran. It waits up to DATABASE_WAIT for a database that does not answer
 * yet, because it starts later or fails over just then (security R109).
 * @throws ConfigError with a sentence that names the setting, or MigrationError
 */
export async function migrateOnceReachable(
  opened: ServiceDatabase,
  config: Config,
  logger: Logger,
  stopped?: AbortSignal,
): Promise<string[]> {
  const end = performance.now() + config.databaseWait * 1000;
  for (let warned = false; ; warned = true) {
    try {
      return await opened.migrate();
    } catch (error) {
      if (!(error instanceof DatabaseUnusable) || !error.isTransient || performance.now() > end) throw error;
      if (!warned) logger.warn(`${error.message} Waiting for it for up to ${config.databaseWait} seconds.`);
      await delay(reachPause, undefined, { signal: stopped });
    }
  }
}

/** @throws ConfigError that says where a command looked, and how a database is named */
function requireDatabase(dataDir: string): void {
  if (!holdsDatabase(dataDir))
    throw new ConfigError(
      `There is no database in ${path.resolve(dataDir)}, and only the start of the service creates one: set DATA_DIR to the folder of the service's database, or DATABASE_URL and SECRET_KEY as the service has them, or name the file of its settings by --env-file=FILE.`,
    );
}
