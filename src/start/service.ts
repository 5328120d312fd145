// Starts the whole service and stops it, for the server process, the demonstration and the tests.
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isatty } from 'node:tty';
import pino, { type Logger } from 'pino';
import { type AppOptions, buildApp } from '../app.ts';
import { type Config, ConfigError } from '../config.ts';
import { letPoolThreadsGiveWay } from '../crypto/thread-priority.ts';
import { migrateOnceReachable, openServiceDatabase, type ServiceDatabase } from '../database/service-database.ts';
import { appliedText } from '../database/migrations.ts';
import { tracedDatabase } from '../database/traced-database.ts';
import { openJsonLog, standardError } from '../server/json-log.ts';
import { listenAt } from '../server/listen.ts';
import type { Siblings } from '../server/metrics.ts';
import { openTraces } from './traces.ts';
import { logEvent } from '../repositories/audit/audit-events.ts';
import { createStore, type Store } from '../repositories/store.ts';
import { unstoredTexts } from '../repositories/users/unstored-addresses.ts';
import { sharedTexts } from '../repositories/users/users.ts';
import { carryOverAddresses } from '../jobs/address-carry-over.ts';
import { cleanUp } from '../jobs/retention.ts';
import { announce } from './announce.ts';
import { openCertificatePort, reloadCertificates } from './certificate-port.ts';
import { configureAtStart } from './configuration.ts';
import { createFirstAdministrator } from './first-administrator.ts';
import { openTerminalLog } from './terminal-log.ts';

export interface Service {
  logger: Logger;
  /** The port on which it listens; the operating system chooses one if PORT is 0. */
  port: number;
  /** Text for the operator: the addresses, the first password, the next steps. */
  greeting: string;
  /** The first administrator's, if this start generated it. */
  firstPassword: string | undefined;
  /** Reads the files of the TLS certificate and the authorities again, where the service ends TLS itself. */
  reload?(): void;
  /** Answers the requests under way, then stops everything that the start began. */
  stop(): Promise<void>;
}

/** Log members that may hold a secret (security R99). */
const redacted = ['req.headers.authorization', 'req.headers.cookie', 'headers.authorization', 'headers.cookie'];
const drainTimeout = 25_000; // milliseconds
const idleInterval = 50; // milliseconds

export function createLogger(config: Pick<Config, 'logLevel'>): Logger {
  const destination = isatty(standardError) ? openTerminalLog() : openJsonLog();
  return pino({ level: config.logLevel, base: undefined, redact: redacted }, destination);
}

/** What `gatehouse dev` adds to a start. */
export interface Additions {
  app: Pick<AppOptions, 'mailTransport' | 'newKeyPair' | 'passwordWork' | 'refusalLimits'> & {
    doors(connection: ServiceDatabase): AppOptions['doors'];
  };
  /** Fills the database before the service listens. */
  fill(opened: { config: Config; connection: ServiceDatabase; store: Store; logger: Logger }): Promise<void>;
}

/**
 * @param stopped ends the wait for a database that does not answer yet; the start then throws its reason
 * @param workers for a worker: the other processes on the same port, and since when the first one is alone at its embedded database
 * @param additions of `gatehouse dev`
 * @throws ConfigError, EmbeddedPostgresError, MigrationError or the system's own error, each with one clear sentence
 */
export async function startService(
  config: Config,
  stopped?: AbortSignal,
  workers?: { siblings: Siblings; aloneSince: Date | undefined },
  logger: Logger = createLogger(config),
  additions?: Additions,
): Promise<Service> {
  for (const notice of config.notices) logger.warn(notice);
  const tracing = await openTraces(config, logger);
  const connection = await openServiceDatabase(config, logger, { stopped, aloneSince: workers?.aloneSince });
  const database = tracing ? tracedDatabase(connection.database) : connection.database;
  let closeApp: (() => Promise<void>) | undefined;
  let instanceId: string | undefined;
  try {
    const migrations = await migrateOnceReachable(connection, config, logger, stopped);
    if (migrations.length > 0) logger.info(appliedText(migrations));
    const store = createStore(database, (event) => logEvent(logger, event));
    instanceId = await announce({ config, connection, store });
    await warnOfFormerRules(store, logger);
    const configDrift = await configureAtStart({ config, connection, store, logger });
    await additions?.fill({ config, connection, store, logger });
    const own = additions && { ...additions.app, doors: additions.app.doors(connection) };
    let starting = true;
    const isStarting = () => starting;
    const { secretKeys } = connection;
    const siblings = workers?.siblings;
    const options = { config, database, secretKeys, logger, siblings, configDrift, isStarting, tracing, instanceId };
    const app = await buildApp({ ...options, ...own });
    closeApp = () => app.close();
    // an administrator with a password from the settings exists before the first request
    if (config.adminPassword !== undefined) await createFirstAdministrator(config, store);
    const close = await listenAt(app, config, logger).catch((error: unknown) => {
      throw listenError(config, error);
    });
    closeApp = close;
    const certificates = await openCertificatePort(app, config);
    closeApp = async () => void (await Promise.all([close(), certificates?.close()]));
    letPoolThreadsGiveWay();
    // a generated password is printed once, so it is generated only when nothing of the start can fail any more
    const firstPassword =
      config.adminPassword === undefined ? await createFirstAdministrator(config, store) : undefined;
    starting = false;
    const cleaner = cleanUp(store, config.lifetimes, logger);
    const addresses = carryOverAddresses(store, logger);
    const { port } = app.server.address() as AddressInfo;
    logger.info({ issuer: config.issuer, port, database: connection.kind }, 'Gatehouse is ready');
    return {
      logger,
      port,
      greeting: greeting(config, firstPassword, connection.kind),
      firstPassword,
      ...(certificates && { reload: () => reloadCertificates(certificates, logger) }),
      async stop() {
        const closed = Promise.all([close(), certificates?.close()]);
        // clients would keep open the connections that become idle after their answer
        const idle = setInterval(() => app.server.closeIdleConnections(), idleInterval);
        await Promise.race([closed, delay(drainTimeout, undefined, { ref: false })]).finally(() => clearInterval(idle));
        await Promise.all([cleaner.stop(), addresses.stop(), tracing?.stop()]);
        await connection.close();
      },
    };
  } catch (error) {
    await closeApp?.();
    if (instanceId !== undefined)
      await createStore(connection.database)
        .instances.remove(instanceId)
        .catch(() => undefined);
    await tracing?.stop();
    await connection.close();
    throw error;
  }
}

/** Says which users have a name, a value or an address from before it was refused (security R153, R158). */
async function warnOfFormerRules(store: Store, logger: Logger): Promise<void> {
  const pairs = await store.users.pairs(20);
  if (pairs.length > 0) logger.warn({ pairs }, sharedTexts);
  const users = await store.unstoredAddresses.list(20);
  if (users.length > 0) logger.warn({ users }, unstoredTexts);
}

/** Turns an error that the operator can correct into a sentence about HOST or PORT. */
function listenError(config: Config, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const sentence = {
    EADDRINUSE: `The port ${config.port} is in use by another program: set PORT to a free port.`,
    EACCES: `This user is not allowed to use the port ${config.port}: set PORT to a port above 1023.`,
    EADDRNOTAVAIL: `The setting HOST is wrong: ${config.host} is not an address of this machine.`,
    // such as a link-local address without its interface
    EINVAL: `The setting HOST is wrong: ${config.host} is not an address of this machine.`,
    ENOTFOUND: `The setting HOST is wrong: ${config.host} cannot be resolved.`,
    EAI_AGAIN: `The setting HOST is wrong: ${config.host} cannot be resolved.`,
  }[code ?? ''];
  return sentence === undefined ? error : new ConfigError(sentence, { cause: error });
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
      `  The first administrator was created. The password is printed only this once:`,
      `    user name  ${config.adminUsername}`,
      `    password   ${firstPassword}`,
    );
  }
  lines.push(
    '',
    '  Try next, in another terminal:',
    ...(config.issuer.startsWith('https:')
      ? []
      : ['    npm run demo                          a sample application signs a user in']),
    '    bin/gatehouse client create --help    connects your application',
    '    bin/gatehouse help                    the commands for users, clients and keys',
    '',
    '',
  );
  return lines.join('\n');
}
