// Runs the service as a process: reads the settings, starts the service, prints the greeting, and stops it on a signal.
import cluster from 'node:cluster';
import type { Logger } from 'pino';
import { createLogger, type Service, startService } from './service.ts';
import { ConfigError, loadConfig } from '../config.ts';
import { EmbeddedPostgresError } from '../database/embedded.ts';
import { MigrationError } from '../database/migrations.ts';
import { logTo } from './stray-output.ts';
import { joinWorkers, startWorkers, WorkerRefused } from './workers.ts';

let log: Logger | undefined;
// standard output gets only the greeting, so the service runs on when it is closed
process.stdout.on('error', (error) =>
  log?.warn(
    { err: error },
    'the greeting could not be printed: if it contained the first password, set a new one with `bin/gatehouse user set-password`',
  ),
);
let service: Service | undefined;
let stopSignal: NodeJS.Signals | undefined;
let signalledAt = 0;
/** A second signal within these milliseconds is a repetition: a terminal sends SIGINT to the service and to npm, and npm forwards it. */
const repetitionWindow = 1_000;
const stopping = new AbortController();
process.on('SIGTERM', stop);
// a terminal sends SIGINT to every process, and the first one stops its workers
process.on('SIGINT', cluster.isWorker ? () => undefined : stop);
try {
  const config = loadConfig();
  // an operator renews the files; without MTLS_PORT the signal ends the process as before
  if (config.mtls.port !== undefined) process.on('SIGHUP', () => service?.reload?.());
  log = createLogger(config);
  logTo(log);
  const workers = cluster.isWorker ? joinWorkers(process.argv) : undefined;
  service = await (config.workers > 1 && !workers
    ? startWorkers(config, stopping.signal, log)
    : startService(config, stopping.signal, workers, log));
  if (stopSignal) end(service, stopSignal);
  else if (workers) workers.ready(service);
  else process.stdout.write(service.greeting);
} catch (error) {
  if (stopping.signal.aborted && (error as Error).name === 'AbortError') process.exit(0);
  const sentence = startError(error);
  if (sentence !== undefined) process.stderr.write(`${sentence}\n`);
  else if (!(error instanceof WorkerRefused))
    (log ?? createLogger({ logLevel: 'info' })).fatal({ err: error }, 'the service could not start');
  process.exit(1);
}

/** A signal during the start waits until the service can stop, so that no embedded database is left running; a second one ends the process. */
function stop(signal: NodeJS.Signals): void {
  if (stopSignal) {
    if (!service && performance.now() - signalledAt > repetitionWindow) process.exit(1);
    return;
  }
  stopSignal = signal;
  signalledAt = performance.now();
  stopping.abort();
  if (service) end(service, signal);
}

function end(started: Service, signal: NodeJS.Signals): void {
  started.logger.info({ signal }, 'stopping after the requests in progress');
  started.stop().then(
    () => process.exit(0),
    (error: unknown) => {
      started.logger.fatal({ err: error }, 'the service did not stop cleanly');
      process.exit(1);
    },
  );
}

/** The message of an error that the operator can correct. */
function startError(error: unknown): string | undefined {
  if (error instanceof ConfigError || error instanceof EmbeddedPostgresError || error instanceof MigrationError)
    return error.message;
  return undefined;
}
