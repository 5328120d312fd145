// Several processes of the service on one port of one machine: starts them, starts again what crashes, and ends them together.
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { openConnection } from '../database/connection.ts';
import type { MetricValues, Siblings } from '../server/metrics.ts';
import { createLogger, type Service } from './service.ts';

/** The first worker ended before it was ready, and has said why on standard error itself. */
export class WorkerRefused extends Error {}

type Started = Pick<Service, 'port' | 'greeting' | 'firstPassword'>;
/** What the processes tell each other. */
type FromWorker = { ready: Started } | { wanted: number } | { values: MetricValues; of: number };
type ToWorker = { collect: number } | { collected: MetricValues[]; wanted: number };

const firstPause = 500; // milliseconds before a worker that crashed is started again; doubled while it crashes at once
const longestPause = 30_000;
const livesLong = 60_000; // milliseconds after which a crash is the first one again
const collectLimit = 1_000; // milliseconds

/**
 * Starts `config.workers` processes of this same program; they share the port, and each has a pool of connections of its own.
 * @throws WorkerRefused, or what opening the embedded database throws
 */
export async function startWorkers(
  config: Config,
  stopped?: AbortSignal,
  logger: Logger = createLogger(config),
): Promise<Service> {
  // held here, so that it outlives each of the workers
  const embedded = config.databaseUrl === undefined ? await openConnection(config, logger) : undefined;
  let stopping = false;
  let firstReady: (started: Started) => void;
  const first = new Promise<Started>((resolve) => (firstReady = resolve));

  /** One place among the workers: whoever fills it, until the end. */
  async function fill(refused?: () => void): Promise<void> {
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
      pause = performance.now() - begin > livesLong ? firstPause : Math.min(2 * pause, longestPause);
      logger.error({ worker: worker.process.pid, code, signal }, `a worker ended; another is started in ${pause} ms`);
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

  // the first one alone: what is wrong with the settings is said once, and the schema is made once
  const refusal = new Promise<never>((_, reject) => void fill(() => reject(new WorkerRefused())));
  const aborted = new Promise<never>((_, reject) => {
    const abort = () => reject(new DOMException('stopped during the start', 'AbortError'));
    if (stopped?.aborted) abort();
    stopped?.addEventListener('abort', abort);
  });
  try {
    const { port, greeting, firstPassword } = await Promise.race([first, refusal, aborted]);
    refusal.catch(() => undefined);
    aborted.catch(() => undefined);
    for (let count = 1; count < config.workers; count++) void fill();
    return { logger, port, greeting, firstPassword, stop };
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}

/** Collects what the other workers measured, for one that was asked. */
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
  // one that does not answer is left out
  const timer = setTimeout(done, collectLimit);
  open.set(id, (values) => {
    collected.push(values);
    if (collected.length === others.length) done();
  });
  for (const other of others) other!.send({ collect: id } satisfies ToWorker);
  if (others.length === 0) done();
}

/** In a worker: how it tells that it is ready, and asks the others what they measured. */
export function joinWorkers(): { siblings: Siblings; ready(service: Service): void } {
  const tell = (message: FromWorker) => void process.send!(message);
  const waiting = new Map<number, (collected: MetricValues[]) => void>();
  let values: () => Promise<MetricValues> = async () => [];
  let asked = 0;
  process.on('message', (message: ToWorker) => {
    if ('collect' in message) {
      void values().then((own) => tell({ values: own, of: message.collect }));
    } else {
      waiting.get(message.wanted)?.(message.collected);
      waiting.delete(message.wanted);
    }
  });
  return {
    siblings: {
      answerWith: (own) => (values = own),
      ask: () =>
        new Promise((resolve) => {
          waiting.set(++asked, resolve);
          tell({ wanted: asked });
        }),
    },
    ready: ({ port, greeting, firstPassword }) => tell({ ready: { port, greeting, firstPassword } }),
  };
}
