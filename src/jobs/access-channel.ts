// Ends what users have of clients that they may no longer use. They are refused from the moment of the change (has_access() in each statement): here the rows
// follow, with logout messages and events, in portions that no request has to wait for (federation FR42).
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { DatabaseUnavailable } from '../database/database.ts';
import type { OutboxRow } from '../repositories/outbox/outbox.ts';
import type { Store } from '../repositories/store.ts';
import type { Channel, Failure } from './channel.ts';
import { outboxQueue } from './outbox.ts';

/** Users whose rows one statement ends. */
const portion = 100;
/** Milliseconds between two looks at the transactions that began before the change, and how many looks one attempt takes. */
const pause = 50;
const looks = 100;

export function accessChannel(store: Store, logger: Logger): Channel<OutboxRow> {
  async function endAll(clientId: string, subs: readonly string[]): Promise<number> {
    let ended = 0;
    for (let from = 0; from < subs.length; from += portion)
      ended += await store.clientAccess.end(clientId, subs.slice(from, from + portion));
    return ended;
  }

  /** A row names users who left a group, or a client that admits fewer users. */
  async function endOf({ name, clientId, data }: OutboxRow): Promise<number> {
    if (name === 'users') return endAll(clientId!, data['subs'] as string[]);
    let all = 0;
    for (;;) {
      const ended = await endAll(clientId!, await store.clientAccess.findLost(clientId!, 10 * portion));
      if (ended === 0) return all;
      all += ended;
    }
  }

  /**
   * Waits for the transactions that write now. One that began before the change may have seen the old groups, and stores its response after the change:
   * it would survive, and be good again for a user who joins the group again.
   * @returns false if one of them takes too long
   */
  async function areOthersOver(): Promise<boolean> {
    const before = await store.clientAccess.snapshot();
    for (let look = 1; look <= looks; look++) {
      if (await store.clientAccess.isOver(before)) return true;
      await delay(pause);
    }
    return false;
  }

  /** @param isLast whether nothing is stored any more that the change has to end; undefined for a first look */
  async function handleOne(row: OutboxRow, isLast?: boolean): Promise<Failure<OutboxRow>[]> {
    try {
      const ended = await endOf(row);
      if (ended > 0) logger.info({ client_id: row.clientId, users: ended }, 'users lost a client');
      if (isLast === undefined) return [];
      if (!isLast) return [{ row, reason: 'a transaction from before the change is still open' }];
      await store.outbox.delete(row.id);
      return [];
    } catch (error) {
      // the lease ends later
      if (error instanceof DatabaseUnavailable) throw error;
      return [{ row, reason: error instanceof Error ? error.message : String(error) }];
    }
  }

  return {
    name: 'access',
    queue: outboxQueue(store, { name: 'access', parallel: 1, batch: 5, lease: 120, deadline: 7 * 86_400 }),
    async handle(rows) {
      // at once what is stored, however long a transaction from before the change takes; then what it has stored
      const failures: Failure<OutboxRow>[] = [];
      for (const row of rows) failures.push(...(await handleOne(row)));
      const others = rows.filter((row) => !failures.some((failure) => failure.row === row));
      const isLast = await areOthersOver();
      for (const row of others) failures.push(...(await handleOne(row, isLast)));
      return failures;
    },
    recordEnd: async () => undefined, // nothing was promised: the users are refused, and what they have expires
    facts: ({ name, clientId, attempts }) => ({ of: name, client_id: clientId, attempts }),
    messages: {
      failed: 'what users have of a client that they may no longer use was not ended; will retry',
      givenUp: 'what users have of a client that they may no longer use could not be ended; giving up',
      unread: 'users who lost a client could not be read',
      unrecorded: 'the end of what users have of a client could not be recorded',
    },
  };
}
