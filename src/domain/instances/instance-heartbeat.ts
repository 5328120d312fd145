// Keeps this instance's row in the table instances alive, from before its first request until after its last one.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { InstancePlace } from '../../repositories/instances/instances.ts';
import type { Store } from '../../repositories/store.ts';

// three heartbeats fit into the time after which an instance counts as stopped
const interval = 30_000; // milliseconds

/** Announces which key this instance encrypts with. The result stops the heartbeat and removes the row. */
export async function startHeartbeat(
  store: Store,
  { secretKeyId, place }: { secretKeyId: string; place: InstancePlace },
  logger: Logger,
  id: string = randomUUID(),
): Promise<() => Promise<void>> {
  await store.instances.heartbeat(id, secretKeyId, place);
  const timer = setInterval(() => {
    store.instances.heartbeat(id, secretKeyId, place).catch((error: unknown) => {
      logger.warn({ err: error }, 'the heartbeat of this instance could not be stored');
    });
  }, interval);
  // a start that fails later must end the process
  timer.unref();
  return async () => {
    clearInterval(timer);
    // a stop without a database leaves the row: the instance counts as running until it times out
    await store.instances.remove(id).catch(() => undefined);
  };
}
