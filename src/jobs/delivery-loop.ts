// Runs deliveries that wait in the database: it looks for due ones when it is woken, when a pause ends, and every ten seconds.
import type { Logger } from 'pino';

export interface DeliveryWorker {
  /** Looks for due deliveries now. */
  wake(): void;
  /** Stops, and waits for running deliveries. */
  stop(): Promise<void>;
}

/** The running deliveries of this instance. */
export interface UnderWay {
  /** The names of the running deliveries. */
  readonly names: ReadonlySet<string>;
  /** Adds a running delivery. When it ends, the loop looks again. */
  add(name: string, work: Promise<void>): void;
}

export interface DeliveryLoopOptions {
  /** Claims and starts due deliveries; returns the seconds until the next is due, or undefined if none waits. */
  look(underWay: UnderWay): Promise<number | undefined>;
  /** The log messages for a failure of `look`, and of work. */
  failures: { look: string; work: string };
  logger: Logger;
}

const interval = 10_000; // milliseconds: no notification reports that the lease of a dead instance has ended

export function startDeliveryLoop({ look, failures, logger }: DeliveryLoopOptions): DeliveryWorker {
  const names = new Set<string>();
  const work = new Set<Promise<void>>();
  let stopped = false;
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let pauseEnd: NodeJS.Timeout | undefined;

  function wake(): void {
    if (stopped) return;
    if (looking) {
      lookAgain = true;
      return;
    }
    looking = lookOnce()
      .catch((error: unknown) => {
        if (!stopped) logger.warn({ err: error }, failures.look);
      })
      .finally(() => {
        looking = undefined;
        if (lookAgain) wake();
      });
    lookAgain = false;
  }

  async function lookOnce(): Promise<void> {
    const pause = await look({ names, add });
    clearTimeout(pauseEnd);
    if (pause !== undefined && !stopped) pauseEnd = setTimeout(wake, pause * 1000 + 1);
  }

  function add(name: string, begun: Promise<void>): void {
    names.add(name);
    const done: Promise<void> = begun
      .catch((error: unknown) => logger.warn({ err: error }, failures.work))
      .finally(() => {
        names.delete(name);
        work.delete(done);
        wake();
      });
    work.add(done);
  }

  const timer = setInterval(wake, interval);
  return {
    wake,
    async stop() {
      stopped = true;
      clearInterval(timer);
      await looking;
      clearTimeout(pauseEnd);
      await Promise.all(work);
    },
  };
}
