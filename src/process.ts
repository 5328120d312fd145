// The process: settings, database, application, listening, and a graceful end. server.ts starts it.
import cluster from 'node:cluster';
import { type Service, startService } from './service.ts';
import { ConfigError, loadConfig } from './config.ts';
import { EmbeddedPostgresError } from './database/embedded.ts';
import { MigrationError } from './database/migrations.ts';
import { joinWorkers, startWorkers, WorkerRefused } from './workers.ts';

let service: Service | undefined;
let asked: NodeJS.Signals | undefined;
const stopped = new AbortController();
process.on('SIGTERM', stop);
// of workers the first process decides: a terminal sends this to all of them
process.on('SIGINT', cluster.isWorker ? () => undefined : stop);
try {
  const config = loadConfig();
  const workers = cluster.isWorker ? joinWorkers() : undefined;
  service = await (config.workers > 1 && !workers
    ? startWorkers(config, stopped.signal)
    : startService(config, stopped.signal, workers?.siblings));
  if (asked) end(service, asked);
  else if (workers) workers.ready(service);
  else process.stdout.write(service.greeting);
} catch (error) {
  if (stopped.signal.aborted && (error as Error).name === 'AbortError') process.exit(0);
  if (!(error instanceof WorkerRefused)) process.stderr.write(`${startError(error)}\n`);
  process.exit(1);
}

/** During the start too, so that the database does not stay behind; a second signal then ends the process as it is. */
function stop(signal: NodeJS.Signals): void {
  if (asked) {
    if (!service) process.exit(1);
    return;
  }
  asked = signal;
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

function startError(error: unknown): string {
  if (error instanceof ConfigError || error instanceof EmbeddedPostgresError || error instanceof MigrationError)
    return error.message;
  return error instanceof Error && error.stack ? error.stack : String(error);
}
