// Runs a provider for tests as a process: a throwaway database, one line of JSON when it is ready, and an end with its parent (delivery 5).
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { complaint } from '../command-line/command-line.ts';
import { type DevArguments, devArguments } from '../command-line/dev.ts';
import { loadDevConfig } from '../config.ts';
import { randomSecret } from '../crypto/secrets.ts';
import { ageRows } from '../database/age-rows.ts';
import { createDoors } from '../dev/doors.ts';
import type { MailTransport } from '../outbound/mail-transport.ts';
import { keyAlgorithms, makeKeyPair } from '../tokens/key-ring.ts';
import { fillDevDatabase, type Filled, readDevConfiguration } from './dev-configuration.ts';
import { fillThrowaway, makeThrowaway, removeThrowaway } from './dev-database.ts';
import { createLogger, type Service, startService } from './service.ts';
import { logTo } from './stray-output.ts';

/** Passwords of tests protect nothing. */
const littleWork = { memoryCost: 1024, timeCost: 1 };
const parentInterval = 200; // milliseconds
const portAttempts = 5;

const parent = process.ppid;
let folder: string | undefined;
let service: Service | undefined;
let ending: Promise<void> | undefined;
const stopping = new AbortController();

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void end(0));
// a test that is killed cannot end its provider: the system gives this process another parent
setInterval(() => process.ppid === parent || void end(0), parentInterval).unref();
process.stdout.on('error', () => void end(0));

try {
  await start(devArguments(process.argv.slice(2)));
} catch (error) {
  if (!stopping.signal.aborted) {
    process.stderr.write(`${complaint(error)}\n`);
    await end(1);
  }
}

async function start(given: DevArguments): Promise<void> {
  // keys take the longest, and need nothing of the rest
  const pairs = new Map(keyAlgorithms.map((alg) => [alg, makeKeyPair(alg)]));
  for (const pair of pairs.values()) pair.catch(() => undefined);
  const options = { host: given.listen, adminPassword: randomSecret().slice(0, 24) };
  // refuses what it must before anything is made
  const { issuer } = loadDevConfig({ ...options, port: given.port ?? 0, dataDir: '.' });
  const wanted = given.port ?? portOf(issuer);
  const configuration = await readDevConfiguration(given.config);
  folder = await makeThrowaway();
  for (let attempt = 1; ; attempt++) {
    const port = wanted ?? (await freePort());
    const config = loadDevConfig({ ...options, port, dataDir: folder });
    const logger = createLogger(config);
    logTo(logger);
    if (attempt === 1) await fillThrowaway(config, folder, logger);
    if (stopping.signal.aborted) return;
    const token = isLoopback(given.listen) ? undefined : randomSecret();
    let filled: Filled | undefined;
    try {
      service = await startService(config, stopping.signal, undefined, logger, {
        app: {
          passwordWork: littleWork,
          mailTransport: mailTo(logger),
          // a door explains each refusal, so the service keeps all of them
          refusalLimits: { blocked: () => 0, consume: async () => 0 },
          newKeyPair: (alg) => {
            const pair = pairs.get(alg) ?? makeKeyPair(alg);
            pairs.delete(alg);
            return pair;
          },
          doors: ({ options: server }) => {
            if (!('host' in server)) throw new Error('the database is not the embedded one');
            return createDoors({ token, age: (seconds) => ageRows(server, seconds) });
          },
        },
        async fill(opened) {
          filled = await fillDevDatabase(opened, given.config, configuration, littleWork);
        },
      });
    } catch (error) {
      if (wanted !== undefined || attempt === portAttempts || !isPortTaken(error)) throw error;
      continue;
    }
    const hasAdministrator = filled!.users.some(({ admin }) => admin);
    const line = {
      issuer: config.issuer,
      pid: process.pid,
      ...filled,
      ...(!hasAdministrator && {
        administrator: { username: config.adminUsername, password: options.adminPassword },
      }),
      ...(token !== undefined && { dev_token: token }),
    };
    process.stdout.write(`${JSON.stringify(line)}\n`);
    return;
  }
}

/** Ends the process once, and leaves nothing behind. */
function end(code: number): Promise<void> {
  ending ??= (async () => {
    stopping.abort();
    try {
      await service?.stop();
    } finally {
      if (folder !== undefined) await removeThrowaway(folder);
      process.exit(code);
    }
  })();
  return ending;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, 'localhost', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|::1)$/.test(host);
}

/** The port of BASE_URL, if that is set. */
function portOf(issuer: string): number | undefined {
  const { port, protocol } = new URL(issuer);
  return port === '0' ? undefined : Number(port || (protocol === 'https:' ? 443 : 80));
}

/** Another program may take the port before the service does: the start then tries another one. */
function isPortTaken(error: unknown): boolean {
  return error instanceof Error && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE';
}

/** Writes each mail to the log, with its links: the one exception to the rule that a log has no secret (security R99). */
function mailTo(logger: Logger): MailTransport {
  return {
    kind: 'smtp',
    place: 'standard error',
    check: async () => undefined,
    async send({ to, subject, text }) {
      logger.info({ to, subject, text }, 'mail');
    },
  };
}
