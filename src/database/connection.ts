// Opens the database of the settings, starting the embedded one if there is none, and finds its secret key.
import {
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Config, ConfigError } from '../config.ts';
import { randomSecret } from '../crypto/secrets.ts';
import { type Database, openDatabase } from './database.ts';
import { startEmbeddedPostgres } from './embedded.ts';
import { migrate, MigrationError } from './migrations.ts';

export interface Connection {
  kind: 'embedded' | 'external';
  /** The driver's options for a connection to the server itself: the embedded one's socket, DATABASE_DIRECT_URL, or DATABASE_URL. */
  options: { connectionString: string } | { host: string; port: number; user: string; database: string; ssl: boolean };
  database: Database;
  secretKey: string;
  /** Replaces the key in DATA_DIR; undefined if SECRET_KEY is set. */
  keepSecretKey: ((secretKey: string) => void) | undefined;
  close(): Promise<void>;
}

const restartPause = 1_000; // milliseconds
const reachPause = 500; // milliseconds
/** Codes of errors that the operator can correct: unknown server or database, refused, no right to create tables, full or starting. */
const refusals = /^(E[A-Z_]+|08...|28...|3D...|42501|53...|57P..)$/;
/** Those that may pass without a change of the settings. A timeout, and a connection that ends at once, have no code. */
const passing = /^(|ECONN[A-Z]+|E(HOST|NET)(UNREACH|DOWN)|ETIMEDOUT|EPIPE|EAI_AGAIN|ENOENT|08...|53...|57P..)$/;

/** @throws ConfigError or EmbeddedPostgresError */
export async function openConnection(config: Config, logger: Logger): Promise<Connection> {
  // not the error itself: the driver attaches its whole client to it
  const onError = ({ code, message: reason }: NodeJS.ErrnoException) =>
    logger.warn({ code, reason }, 'a database connection was lost');
  if (config.databaseUrl !== undefined) {
    const direct = config.databaseDirectUrl === undefined ? undefined : { connectionString: config.databaseDirectUrl };
    const connection = { connectionString: config.databaseUrl };
    const { databasePoolSize: poolSize, databasePrepared: prepared } = config;
    const database = openDatabase({ connection, direct, prepared, poolSize, onError });
    const options = direct ?? connection;
    return {
      ...{ kind: 'external', options, database },
      ...{ secretKey: config.secretKey!, keepSecretKey: undefined },
      close: () => database.close(),
    };
  }
  const secretKey = config.secretKey ?? keptSecretKey(config.dataDir);
  const embedded = await startEmbeddedPostgres({ dataDir: config.dataDir, log: (line) => logger.info(line) });
  let closing = false;
  const restart = async () => {
    while (!closing) {
      try {
        await embedded.ensureRunning();
        return;
      } catch (error) {
        logger.fatal({ err: error }, 'the embedded PostgreSQL server does not start; it is tried again');
        await delay(restartPause, undefined, { ref: false });
      }
    }
  };
  embedded.onExit(() => {
    logger.error('the embedded PostgreSQL server ended; it is started again');
    void restart();
  });
  // the socket has no TLS, even if the driver's environment variables ask for it
  const options = { ...embedded.connection, ssl: false };
  const database = openDatabase({ connection: options, poolSize: config.databasePoolSize, onError });
  return {
    kind: 'embedded',
    options,
    database,
    secretKey,
    keepSecretKey: config.secretKey === undefined ? (key) => replaceSecretKey(config.dataDir, key) : undefined,
    async close() {
      closing = true;
      await database.close();
      await embedded.stop();
    },
  };
}

const secretKeyFile = (dataDir: string) => path.join(dataDir, 'secret-key');

/** Replaces the key in DATA_DIR, in one step. */
function replaceSecretKey(dataDir: string, key: string): void {
  const file = secretKeyFile(dataDir);
  const draft = `${file}.${process.pid}`;
  // the file may belong to the user that runs the embedded database
  const { uid, gid } = statSync(file);
  writeFileSync(draft, `${key}\n`, { mode: 0o600, flush: true });
  chownSync(draft, uid, gid);
  renameSync(draft, file);
}

/**
 * Migrates the schema and returns the names of the migrations that ran. While the database does not answer, because it starts later or
 * fails over, it waits for DATABASE_WAIT seconds (security R109).
 * @throws ConfigError with a sentence that names the setting, or MigrationError
 */
export async function migrateOnceReachable(
  { kind, options }: Connection,
  config: Config,
  logger: Logger,
  stopped?: AbortSignal,
): Promise<string[]> {
  const end = performance.now() + config.databaseWait * 1000;
  for (let told = false; ; told = true) {
    try {
      return await migrate(options);
    } catch (error) {
      if (kind === 'embedded' || error instanceof MigrationError || !(error instanceof Error)) throw error;
      // a name with several addresses has an error for each
      const { code = '', message } = ((error as AggregateError).errors?.[0] ?? error) as NodeJS.ErrnoException;
      if (code !== '' && !refusals.test(code)) throw error;
      const sentence = `The database of DATABASE_URL cannot be used: ${message}.`;
      if (!passing.test(code) || performance.now() > end) throw new ConfigError(sentence, { cause: error });
      if (!told) logger.warn(`${sentence} The start waits for it, ${config.databaseWait} seconds at most.`);
      await delay(reachPause, undefined, { signal: stopped });
    }
  }
}

/** Reads the key in DATA_DIR; the first start creates it, readable by its owner only. */
function keptSecretKey(dataDir: string): string {
  const file = secretKeyFile(dataDir);
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
    // a hard link appears in one step, and of two starts at once only one creates it
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
  const key = readFileSync(file, 'utf8').trim();
  if (Buffer.from(key, 'base64url').length !== 32) {
    throw new ConfigError(`The file ${file} does not hold a secret key: restore it from a backup, or set SECRET_KEY.`);
  }
  return key;
}
