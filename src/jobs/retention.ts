// Deletes expired rows, counts events by the hour, and adds up the members of groups, on one instance at a time.
// repositories/retention/expired.ts lists the tables, and how long each keeps its rows.
import type { Logger } from 'pino';
import { declareSubscribers } from '../domain/events/subscribers.ts';
import { deleteGoneUsers } from '../domain/scim/gone-users.ts';
import { limitNames } from '../domain/rate-limits/limit-definitions.ts';
import type { Repositories, Store } from '../repositories/store.ts';

const interval = 15_000; // milliseconds between rounds, the next batch follows a full one at once

/**
 * Deletes registrations that were never approved, or whose credentials were never collected, and records each.
 * @param waiting seconds after which a registration without approval is deleted
 */
export async function deleteUncompleted(store: Store, waiting: number): Promise<void> {
  await store.transaction(async ({ expired, clients, auditEvents }) => {
    if (!(await expired.claim())) return;
    for (const clientId of [...(await clients.deleteUncollected()), ...(await clients.deleteAbandoned(waiting))]) {
      await auditEvents.insert({ type: 'client.expired', outcome: 'success', actor: 'service', clientId });
    }
  });
}

/** Deletes one batch of events older than `kept` seconds, and records that; true when there may be more. */
export async function deleteOldAuditEvents(store: Store, kept: number): Promise<boolean> {
  return store.transaction(async ({ expired, auditEvents }) => {
    if (!(await expired.claim())) return false;
    const { gone, before } = await expired.deleteAuditEvents(kept);
    if (before === undefined) return false;
    const detail = { rows: gone, before: before.toISOString() };
    await auditEvents.insert({ type: 'audit_events.expired', outcome: 'success', actor: 'service', detail });
    return gone >= expired.auditBatch;
  });
}

/** Removes the network addresses from one batch of events older than `kept` seconds; true when there may be more. */
export async function removeOldAddresses(store: Store, kept: number): Promise<boolean> {
  return store.transaction(async ({ expired }) => {
    if (!(await expired.claim())) return false;
    return (await expired.removeAddresses(kept)) >= expired.auditBatch;
  });
}

/** Counts the next minutes of the audit trail for the console's charts; true when more is left to count. */
export async function countEvents(store: Store): Promise<boolean> {
  return store.transaction(async ({ expired, hourlyCounts }) =>
    (await expired.claim()) ? hourlyCounts.countEvents() : false,
  );
}

export interface CleanUpOptions {
  /** Seconds after which a registration without approval is deleted. */
  registrationWaiting: number;
  /** Seconds for which the audit trail is kept; 0 keeps it for ever. */
  auditRetention: number;
  /** Seconds for which an event of it keeps its network address; 0 keeps it as long as the event. */
  auditAddressRetention?: number;
}

/** Starts the job; stop() waits for the running batch. */
export function cleanUp(
  store: Store,
  { registrationWaiting, auditRetention, auditAddressRetention = 0 }: CleanUpOptions,
  logger: Logger,
): { stop(): Promise<void> } {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();

  /** Runs batch after batch until none is left or the job stops. */
  async function all(batch: () => Promise<boolean>): Promise<void> {
    while (!stopped && (await batch()));
  }

  /** Deletes batch by batch, each in a transaction of its own: locks are short, and the claim ends with it. */
  const deleteAll = (batch: (expired: Repositories['expired']) => Promise<number>) =>
    all(async () => {
      const gone = await store.transaction(async ({ expired }) => ((await expired.claim()) ? batch(expired) : 0));
      return gone >= store.expired.batch;
    });

  async function round(): Promise<void> {
    await store.storedFunctions.name();
    await declareSubscribers(store);
    await store.transaction(async ({ expired, dpopProofs }) => (await expired.claim()) && dpopProofs.empty());
    // count events before they are deleted
    await all(() => countEvents(store));
    for (let kind = 0; kind < store.expired.kinds; kind++) await deleteAll((expired) => expired.deleteBatch(kind));
    for (const name of limitNames) await deleteAll((expired) => expired.deleteSurplusOfLimit(name));
    await deleteUncompleted(store, registrationWaiting);
    await deleteGoneUsers(store);
    if (auditRetention > 0) await all(() => deleteOldAuditEvents(store, auditRetention));
    if (auditAddressRetention > 0) await all(() => removeOldAddresses(store, auditAddressRetention));
    if (!stopped) await store.hourlyCounts.finish();
    await all(async () => (await store.groups.settle()) >= store.groups.batch);
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
