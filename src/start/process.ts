// The process: settings, database, application, listening, and a graceful end. server.ts starts it.
import cluster from 'node:cluster';
import type { Logger } from 'pino';
import { createLogger, type Service, startService } from './service.ts';
import { ConfigError, loadConfig } from '../config.ts';
import { EmbeddedPostgresError } from '../database/embedded.ts';
import { MigrationError } from '../database/migrations.ts';
import { logTo } from './stray-output.ts';
import { joinWorkers, startWorkers, WorkerRefused } from './workers.ts';

let log: Logger | undefined;
// only the greeting goes there: the service runs without a reader of it
process.stdout.on('error', (error) =>
  log?.warn(
    { err: error },
    'the greeting could not be printed: if it held a first password, set another by `user set-password`',
  ),
);
let service: Service | undefined;
let asked: NodeJS.Signals | undefined;
let askedAt = 0;
/** Milliseconds in which a repeated signal is the same one: a terminal sends SIGINT to the service and to npm, which passes it on. */
const repeats = 1_000;
const stopped = new AbortController();
process.on('SIGTERM', stop);
// of workers the first process decides: a terminal sends this to all of them
process.on('SIGINT', cluster.isWorker ? () => undefined : stop);
try {
  const config = loadConfig();
  log = createLogger(config);
  logTo(log);
  const workers = cluster.isWorker ? joinWorkers() : undefined;
  service = await (config.workers > 1 && !workers
    ? startWorkers(config, stopped.signal, log)
    : startService(config, stopped.signal, workers?.siblings, log));
  if (asked) end(service, asked);
  else if (workers) workers.ready(service);
  else process.stdout.write(service.greeting);
} catch (error) {
  if (stopped.signal.aborted && (error as Error).name === 'AbortError') process.exit(0);
  const sentence = startError(error);
  if (sentence !== undefined) process.stderr.write(`${sentence}\n`);
  else if (!(error instanceof WorkerRefused))
    (log ?? createLogger({ logLevel: 'info' })).fatal({ err: error }, 'the service could not start');
  process.exit(1);
}

/** Also during the start, so that no embedded database is left running; a second signal then ends the process at once. */
function stop(signal: NodeJS.Signals): void {
  if (asked) {
    if (!service && performance.now() - askedAt > repeats) process.exit(1);
    return;
  }
  asked = signal;
  askedAt = performance.now();
  stopped.abort();
  if (service) end(service, signal);
}

function end(started: Service, signal: NodeJS.Signals): void {
  started.logger.info({ signal }, 'stopping: requests under way are answered first');
  started.stop().then(
    () => process.exit(0),
    (error: unknown) => {
      started.logger.fatal({ err: error }, 'the service did not stop cleanly');
      process.exit(1);
    },
  );
}

/** What the operator can mend, in one sentence. */
function startError(error: unknown): string | undefined {
  if (error instanceof ConfigError || error instanceof EmbeddedPostgresError || error instanceof MigrationError)
    return error.message;
  return undefined;
}
