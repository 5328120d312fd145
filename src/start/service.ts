// Starts the whole service and stops it: what the server process, the demonstration and the tests share.
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pino, { type Logger } from 'pino';
import { buildApp } from '../app.ts';
import { type Config, ConfigError } from '../config.ts';
import { isCommonPassword } from '../crypto/common-passwords.ts';
import { createPasswordHashing } from '../crypto/password-hashing.ts';
import { randomSecret } from '../crypto/secrets.ts';
import { letPoolThreadsGiveWay } from '../crypto/thread-priority.ts';
import { isUniqueViolation } from '../database/database.ts';
import { migrateOnceReachable, openConnection } from '../database/connection.ts';
import { listenAt } from '../server/listen.ts';
import type { Siblings } from '../server/metrics.ts';
import { logEvent } from '../repositories/audit/audit-events.ts';
import { createStore, type Store } from '../repositories/store.ts';
import { cleanUp } from '../jobs/retention.ts';
import { openLog } from './log-destination.ts';

export interface Service {
  logger: Logger;
  /** Where it listens: the port is the operating system's choice when PORT is 0. */
  port: number;
  /** For the operator's eyes: the address, the first password, what to try next. */
  greeting: string;
  /** The first administrator's, when this start made one and its password up. */
  firstPassword: string | undefined;
  /** Answers the requests under way, then ends everything it started. */
  stop(): Promise<void>;
}

/** Paths of log members that may hold a secret (security R99). */
const redacted = ['req.headers.authorization', 'req.headers.cookie', 'headers.authorization', 'headers.cookie'];
const drainLimit = 25_000; // milliseconds
const idleInterval = 50; // milliseconds

/** The log of the process. */
export function createLogger(config: Pick<Config, 'logLevel'>): Logger {
  return pino({ level: config.logLevel, base: undefined, redact: redacted }, openLog());
}

/**
 * @param stopped ends the wait for a database that does not answer yet; the start then throws its reason
 * @param siblings the other processes behind the same port
 * @throws ConfigError, EmbeddedPostgresError, MigrationError or the system's own error, each with one clear sentence
 */
export async function startService(
  config: Config,
  stopped?: AbortSignal,
  siblings?: Siblings,
  logger: Logger = createLogger(config),
): Promise<Service> {
  const connection = await openConnection(config, logger);
  const { database } = connection;
  let closeApp: (() => Promise<void>) | undefined;
  try {
    const migrations = await migrateOnceReachable(connection, config, logger, stopped);
    if (migrations.length > 0) logger.info({ migrations }, 'the database schema is up to date');
    const store = createStore(database, (event) => logEvent(logger, event));
    let starting = true;
    const isStarting = () => starting;
    const app = await buildApp({ config, database, secretKey: connection.secretKey, logger, siblings, isStarting });
    closeApp = () => app.close();
    // a password from the settings works with the first request that is let in
    if (config.adminPassword !== undefined) await makeFirstAdministrator(config, store);
    const close = await listenAt(app, config, logger).catch((error: unknown) => {
      throw listenError(config, error);
    });
    closeApp = close;
    letPoolThreadsGiveWay();
    // a generated password is shown once: a start that fails before has generated none, and no request can know it before
    const firstPassword = config.adminPassword === undefined ? await makeFirstAdministrator(config, store) : undefined;
    starting = false;
    const cleaner = cleanUp(
      store,
      { registrationWaiting: config.lifetimes.registrationWaiting, auditRetention: config.lifetimes.auditRetention },
      logger,
    );
    const { port } = app.server.address() as AddressInfo;
    logger.info({ issuer: config.issuer, port, database: connection.kind }, 'Gatehouse is ready');
    return {
      logger,
      port,
      greeting: greeting(config, firstPassword, connection.kind),
      firstPassword,
      async stop() {
        const closed = close();
        // a connection that was busy is idle after its answer, and its client would keep it open
        const idle = setInterval(() => app.server.closeIdleConnections(), idleInterval);
        await Promise.race([closed, delay(drainLimit, undefined, { ref: false })]).finally(() => clearInterval(idle));
        await cleaner.stop();
        await connection.close();
      },
    };
  } catch (error) {
    await closeApp?.();
    await connection.close();
    throw error;
  }
}

/** What an operator can mend about the address to listen on, as a sentence; anything else as it is. */
function listenError(config: Config, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const sentence = {
    EADDRINUSE: `The port ${config.port} is taken by another program: set PORT to a free one.`,
    EACCES: `The port ${config.port} is not open to this user: set PORT to one above 1023.`,
    EADDRNOTAVAIL: `The setting HOST is wrong: ${config.host} is not an address of this machine.`,
    ENOTFOUND: `The setting HOST is wrong: ${config.host} is not known.`,
    EAI_AGAIN: `The setting HOST is wrong: ${config.host} is not known.`,
  }[code ?? ''];
  return sentence === undefined ? error : new ConfigError(sentence, { cause: error });
}

/** With no administrator there is one after the first start; returns the password that was made up, if one was. */
async function makeFirstAdministrator(config: Config, store: Store): Promise<string | undefined> {
  if (await store.users.hasAdmin()) return undefined;
  const { adminUsername: username, adminPassword } = config;
  if (
    adminPassword !== undefined &&
    config.passwordBreachCheck !== 'off' &&
    isCommonPassword(adminPassword, [username, 'gatehouse'])
  )
    throw new ConfigError('The setting ADMIN_PASSWORD is made of common words, names or rows of keys: choose another.');
  const password = adminPassword ?? randomSecret().slice(0, 24);
  const hash = await createPasswordHashing({ concurrency: 1, queue: 1 }).hash(password);
  try {
    const made = await store.transaction(async (repositories) => {
      const user = await repositories.users.insertFirstAdmin(config.adminUsername, hash);
      if (user) {
        await repositories.auditEvents.insert({
          type: 'user.created',
          outcome: 'success',
          actor: 'service',
          sub: user.sub,
          detail: { username: user.username, admin: true },
        });
      }
      return user;
    });
    return made && config.adminPassword === undefined ? password : undefined;
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new ConfigError(
      `The setting ADMIN_USERNAME is wrong: there is no enabled administrator, and ${config.adminUsername} is another user's name.`,
    );
  }
}

function greeting(config: Config, firstPassword: string | undefined, database: 'embedded' | 'external'): string {
  const lines = [
    '',
    `  Gatehouse is ready at ${config.issuer}`,
    '',
    `  Console      ${config.issuer}/admin`,
    `  Your account ${config.issuer}/account`,
    `  Discovery    ${config.issuer}/.well-known/openid-configuration`,
  ];
  if (database === 'embedded') lines.push(`  Database     psql -h ${resolve(config.dataDir)} -U gatehouse gatehouse`);
  if (firstPassword !== undefined) {
    lines.push(
      '',
      `  The first administrator is made. This is shown once:`,
      `    user name  ${config.adminUsername}`,
      `    password   ${firstPassword}`,
    );
  }
  lines.push(
    '',
    '  Try next, in another terminal:',
    '    npm run demo          a sample application signs a user in',
    '    bin/gatehouse help    the commands for users, clients and keys',
    '',
    '',
  );
  return lines.join('\n');
}
