// Repeats work at an interval, one run after the other, and logs a run that failed: the next one tries again.
import type { Logger } from 'pino';

/**
 * Starts the repetition; stop() waits for the run that is under way.
 * @param work one run, which ends early once it is told that it is stopped
 * @param failed what the log says of a run that failed
 */
export function startRepeatedWork(
  logger: Pick<Logger, 'warn'>,
  { interval, failed }: { interval: number; failed: string },
  work: (isStopped: () => boolean) => Promise<unknown>,
): { stop(): Promise<void> } {
  let stopped = false;
  let running: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    running = running.then(() => work(() => stopped)).catch((error: unknown) => logger.warn({ err: error }, failed));
  }, interval);
  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
