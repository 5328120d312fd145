// Processes one channel of the outbox, on any instance: each row is handled at least once, and retried after a failure.
import type { Logger } from 'pino';
import type { OutboxRow } from '../repositories/outbox/outbox.ts';
import type { Repositories, Store } from '../repositories/store.ts';
import { type DeliveryWorker, startDeliveryLoop, type UnderWay } from './delivery-loop.ts';

export interface Failure {
  row: OutboxRow;
  /** In one line, for an administrator who can correct it. */
  reason: string;
  /** Whether another attempt would fail as well. */
  isPermanent?: boolean;
}

export interface Channel {
  name: 'access' | 'event' | 'mail';
  /** How many batches are handled at the same time. */
  parallel: number;
  /** How many rows a batch has at most. */
  batch: number;
  /** Seconds: longer than a batch can take. If this instance dies, another one tries the rows then. */
  lease: number;
  /** Seconds after which a row that still fails is given up. */
  deadline: number;
  /** Does what the rows ask for and deletes them, except those that it returns. */
  handle(rows: readonly OutboxRow[]): Promise<Failure[]>;
  /** Records that a row is given up, in the transaction that deletes it. */
  recordEnd(repositories: Repositories, row: OutboxRow): Promise<void>;
  /** The members of a row's log lines, and the messages. */
  facts(row: OutboxRow): Record<string, unknown>;
  messages: { failed: string; givenUp: string; unread: string; unrecorded: string };
}

export function startChannel(channel: Channel, store: Store, logger: Logger): DeliveryWorker {
  const { name, parallel, batch, lease, deadline, messages } = channel;

  async function look(underWay: UnderWay): Promise<number | undefined> {
    const { givenUp, claimed, pause } = await store.transaction(async (repositories) => {
      const { outbox } = repositories;
      const givenUp = await outbox.giveUp(name, deadline);
      for (const row of givenUp) await channel.recordEnd(repositories, row);
      const free = parallel - underWay.names.size;
      const claimed = free > 0 ? await outbox.claim(name, free * batch, lease) : [];
      return { givenUp, claimed, pause: await outbox.nextPause(name) };
    });
    for (const row of givenUp) logGivenUp(row, row.lastFailure);
    for (let from = 0; from < claimed.length; from += batch) {
      const rows = claimed.slice(from, from + batch);
      underWay.add(rows[0]!.id, handle(rows));
    }
    return pause;
  }

  async function handle(rows: readonly OutboxRow[]): Promise<void> {
    for (const { row, reason, isPermanent = false } of await channel.handle(rows)) {
      if (isPermanent) await giveUp(row, reason);
      else await retry(row, reason);
    }
  }

  async function retry(row: OutboxRow, reason: string): Promise<void> {
    const pause = await store.outbox.fail(row.id, reason);
    logger.warn({ ...channel.facts(row), reason, pause }, messages.failed);
  }

  async function giveUp(row: OutboxRow, reason: string): Promise<void> {
    await store.transaction(async (repositories) => {
      if (await repositories.outbox.delete(row.id)) await channel.recordEnd(repositories, row);
    });
    logGivenUp(row, reason);
  }

  const logGivenUp = (row: OutboxRow, reason: string | undefined) =>
    logger.warn({ ...channel.facts(row), reason }, messages.givenUp);

  return startDeliveryLoop({ look, failures: { look: messages.unread, work: messages.unrecorded }, logger });
}
