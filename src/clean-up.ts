// The background job that deletes what has expired, on one instance at a time.
import type { Logger } from 'pino';
import type { Store } from './repositories/index.ts';

const interval = 15_000; // milliseconds between rounds, but a full batch is followed by the next at once

/**
 * Deletes registrations that nobody approved, or whose credentials nobody collected, and records each; on one instance at a time.
 * @param waiting seconds after which a registration that nobody approved goes
 */
export async function deleteUncompleted(store: Store, waiting: number): Promise<void> {
  await store.transaction(async ({ expired, clients, auditEvents }) => {
    if (!(await expired.claim())) return;
    for (const clientId of [...(await clients.deleteUncollected()), ...(await clients.deleteAbandoned(waiting))]) {
      await auditEvents.insert({ type: 'client.expired', outcome: 'success', actor: 'service', clientId });
    }
  });
}

/**
 * Starts the job; stop() waits for the batch under way.
 * @param registrationWaiting seconds after which a registration that nobody approved is deleted
 */
export function cleanUp(store: Store, registrationWaiting: number, logger: Logger): { stop(): Promise<void> } {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();

  async function round(): Promise<void> {
    for (let kind = 0; kind < store.expired.kinds; kind++) {
      let gone: number;
      do {
        if (stopped) return;
        // a transaction a batch: short locks, and the claim ends with it
        gone = await store.transaction(async ({ expired }) =>
          (await expired.claim()) ? expired.deleteBatch(kind) : 0,
        );
      } while (gone >= store.expired.batch);
    }
    await deleteUncompleted(store, registrationWaiting);
  }

  const timer = setInterval(() => {
    running = running
      .then(round)
      .catch((error: unknown) => logger.warn({ err: error }, 'expired rows could not be deleted'));
  }, interval);
  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
