// Runs several processes of the service on one port: starts them, restarts one that crashes, and stops them together.
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { openServiceDatabase } from '../database/service-database.ts';
import type { MetricValues, Siblings } from '../server/metrics.ts';
import { createLogger, type Service } from './service.ts';

/** The first worker ended before it was ready, and has printed the reason itself. */
export class WorkerRefused extends Error {}

type Started = Pick<Service, 'port' | 'greeting' | 'firstPassword'>;
/** Messages between the processes. `wanted` and `of` number a worker's request and the collection that answers it. */
type FromWorker = { ready: Started } | { wanted: number } | { values: MetricValues; of: number };
type ToWorker = { collect: number } | { collected: MetricValues[]; wanted: number };

const firstPause = 500; // milliseconds until a crashed worker is restarted; doubled while it keeps crashing
const maxPause = 30_000;
const stableAfter = 60_000; // milliseconds; a later crash begins with the first pause again
const collectTimeout = 1_000; // milliseconds
const aloneArgument = '--alone-since='; // of workers, from the first process

/**
 * Starts `config.workers` processes of this program. They share the port, and each has its own connection pool.
 * @throws WorkerRefused, or an error of the embedded database
 */
export async function startWorkers(
  config: Config,
  stopped?: AbortSignal,
  logger: Logger = createLogger(config),
): Promise<Service> {
  // this process keeps the embedded server, so that it outlives each worker
  const embedded = config.databaseUrl === undefined ? await openServiceDatabase(config, logger) : undefined;
  // a worker joins the server of this process, and so cannot tell that another service was killed before
  if (embedded?.aloneSince) cluster.setupPrimary({ args: [aloneArgument + embedded.aloneSince.toISOString()] });
  let stopping = false;
  let firstReady: (started: Started) => void;
  const first = new Promise<Started>((resolve) => (firstReady = resolve));

  /** Keeps one worker running until the service stops. `refused` is called if it ends before it is ready. */
  async function keepRunning(refused?: () => void): Promise<void> {
    for (let pause = firstPause / 2; !stopping;) {
      const begin = performance.now();
      const worker = cluster.fork();
      worker.on('message', (message: FromWorker) => {
        if ('ready' in message) {
          firstReady(message.ready);
          refused = undefined;
        } else answer(worker, message);
      });
      const [code, signal] = (await once(worker, 'exit')) as [number | null, string | null];
      refused?.();
      if (stopping) return;
      pause = performance.now() - begin > stableAfter ? firstPause : Math.min(2 * pause, maxPause);
      logger.error({ worker: worker.process.pid, code, signal }, `a worker exited; restarting it in ${pause} ms`);
      await delay(pause, undefined, { ref: false });
    }
  }

  async function stop(): Promise<void> {
    stopping = true;
    const codes = await Promise.all(
      Object.values(cluster.workers!).map(async (worker) => {
        const exited = once(worker!, 'exit') as Promise<[number | null]>;
        worker!.process.kill('SIGTERM');
        return (await exited)[0];
      }),
    );
    await embedded?.close();
    if (codes.some((code) => code !== 0)) throw new Error(`the workers ended with ${codes.join(', ')}`);
  }

  // one worker starts alone, so that one sentence names a wrong setting, and one process migrates
  const refusal = new Promise<never>((_, reject) => void keepRunning(() => reject(new WorkerRefused())));
  const aborted = new Promise<never>((_, reject) => {
    const abort = () => reject(new DOMException('stopped during the start', 'AbortError'));
    if (stopped?.aborted) abort();
    stopped?.addEventListener('abort', abort);
  });
  try {
    const { port, greeting, firstPassword } = await Promise.race([first, refusal, aborted]);
    refusal.catch(() => undefined);
    aborted.catch(() => undefined);
    for (let count = 1; count < config.workers; count++) void keepRunning();
    const reload = () => {
      for (const worker of Object.values(cluster.workers!)) worker!.process.kill('SIGHUP');
    };
    return { logger, port, greeting, firstPassword, reload, stop };
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}

/** Collects the metrics of the other workers for the worker that requested them. */
let collections = 0;
const open = new Map<number, (values: MetricValues) => void>();
function answer(worker: Worker, message: Exclude<FromWorker, { ready: Started }>): void {
  if ('values' in message) {
    open.get(message.of)?.(message.values);
    return;
  }
  const others = Object.values(cluster.workers!).filter((other) => other !== worker && other!.isConnected());
  const id = ++collections;
  const collected: MetricValues[] = [];
  const done = () => {
    clearTimeout(timer);
    open.delete(id);
    if (worker.isConnected()) worker.send({ collected, wanted: message.wanted } satisfies ToWorker);
  };
  // the metrics lack a worker that does not answer in time
  const timer = setTimeout(done, collectTimeout);
  open.set(id, (values) => {
    collected.push(values);
    if (collected.length === others.length) done();
  });
  for (const other of others) other!.send({ collect: id } satisfies ToWorker);
  if (others.length === 0) done();
}

/** Connects a worker with the first process: it reports that it is ready, and exchanges metrics with the others. `args` are those of this worker. */
export function joinWorkers(args: readonly string[]): {
  siblings: Siblings;
  aloneSince: Date | undefined;
  ready(service: Service): void;
} {
  const aloneSince = args.find((argument) => argument.startsWith(aloneArgument));
  const send = (message: FromWorker) => void process.send!(message);
  const waiting = new Map<number, (collected: MetricValues[]) => void>();
  let values: () => Promise<MetricValues> = async () => [];
  let asked = 0;
  process.on('message', (message: ToWorker) => {
    if ('collect' in message) {
      void values().then((own) => send({ values: own, of: message.collect }));
    } else {
      waiting.get(message.wanted)?.(message.collected);
      waiting.delete(message.wanted);
    }
  });
  return {
    aloneSince: aloneSince === undefined ? undefined : new Date(aloneSince.slice(aloneArgument.length)),
    siblings: {
      answerWith: (own) => (values = own),
      ask: () =>
        new Promise((resolve) => {
          waiting.set(++asked, resolve);
          send({ wanted: asked });
        }),
    },
    ready: ({ port, greeting, firstPassword }) => send({ ready: { port, greeting, firstPassword } }),
  };
}
