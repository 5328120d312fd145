// Gives the addresses that were stored before the A-label of their domain, once, in the background; several instances share the work (security R158).
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { storedAddress } from '../rules/connections/mail-domain.ts';
import type { Store } from '../repositories/store.ts';
import { unstoredTexts } from '../repositories/users/unstored-addresses.ts';

const batch = 100;
const pause = 15_000; // milliseconds until users in use, or a database that failed, are tried again

/** Converts one batch. @returns how many addresses were converted, and how many stay */
async function convertBatch(store: Store): Promise<{ converted: number; kept: number }> {
  return store.transaction(async ({ unstoredAddresses, auditEvents }) => {
    const count = { converted: 0, kept: 0 };
    for (const { sub, email } of await unstoredAddresses.next(batch)) {
      const stored = email === null ? undefined : storedAddress(email);
      const other = stored === undefined ? undefined : await unstoredAddresses.holder(sub, stored);
      if (email !== null && (stored === undefined || other !== undefined)) {
        await unstoredAddresses.keep(sub, other);
        count.kept++;
        continue;
      }
      if (stored !== undefined && stored !== email) {
        await unstoredAddresses.store(sub, stored);
        const detail = { members: ['email'] };
        await auditEvents.insert({ type: 'user.changed', outcome: 'success', actor: 'service', sub, detail });
      }
      await unstoredAddresses.forget(sub);
      count.converted++;
    }
    return count;
  });
}

/** Starts the job, which ends when no address is left to try; stop() waits for the running batch. */
export function carryOverAddresses(store: Store, logger: Logger): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  let kept = 0;
  let told = false;

  /** Converts batch after batch, and returns how many addresses are left for later. */
  async function convertAll(): Promise<number> {
    while (!signal.aborted) {
      const left = await store.unstoredAddresses.left();
      if (left === 0) return 0;
      const count = await convertBatch(store);
      if (count.converted + count.kept === 0) return left;
      kept += count.kept;
      logger.info({ ...count, left: left - count.converted - count.kept }, 'addresses get the A-label of their domain');
    }
    return 0;
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        const left = await convertAll();
        if (left === 0) break;
        if (!told)
          logger.info(
            { left },
            'addresses wait for users in use or with an open link, or for an instance of the previous version',
          );
        told = true;
      } catch (error) {
        if (!signal.aborted) logger.warn({ err: error }, 'addresses could not get the A-label of their domain');
      }
      await delay(pause, undefined, { signal, ref: false }).catch(() => undefined);
    }
    if (kept > 0 && !signal.aborted) logger.warn({ users: await store.unstoredAddresses.list(20) }, unstoredTexts);
  }

  const running = run().catch((error: unknown) => {
    if (!signal.aborted) logger.warn({ err: error }, 'the users whose addresses stay could not be listed');
  });
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
