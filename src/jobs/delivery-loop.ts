// The loop behind deliveries that wait in the database: it looks for what is due when it is woken, when a pause ends, and every ten seconds.
import type { Logger } from 'pino';

export interface DeliveryWorker {
  /** Something may be due. */
  wake(): void;
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

/** What is under way on this instance. */
export interface UnderWay {
  /** The names under which it began. */
  readonly names: ReadonlySet<string>;
  /** Keeps work, which has begun, until it ends; then it is looked again. */
  add(name: string, work: Promise<void>): void;
}

export interface DeliveryLoopOptions {
  /** Claims what is due and begins it; gives back the seconds until more will be due, or undefined if nothing waits. */
  look(underWay: UnderWay): Promise<number | undefined>;
  /** What the log says when `look` fails, and when work does. */
  failures: { look: string; work: string };
  logger: Logger;
}

const interval = 10_000; // milliseconds: the lease of a dead instance ends without a word

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
