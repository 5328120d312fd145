// Runs a channel of what goes out, on any instance: each of its rows is handled at least once, and retried after a failure.
import type { Logger } from 'pino';
import type { Repositories, Store } from '../repositories/store.ts';
import { type DeliveryWorker, startDeliveryLoop, type UnderWay } from './delivery-loop.ts';

export interface Failure<Row> {
  row: Row;
  /** In one line, for an administrator who can correct it. */
  reason: string;
  /** Whether another attempt would fail as well. */
  isPermanent?: boolean;
}

/** The rows of a channel that wait: those of the outbox with its name (outbox.ts), or those of a table of its own. */
export interface Queue<Row> {
  /** Leases due rows for longer than a batch can take: if this instance dies, another one tries them then. @param busy the batches under way */
  claim(repositories: Repositories, busy: ReadonlySet<string>): Promise<{ name: string; rows: Row[] }[]>;
  /** Seconds until the next row is due; undefined without one. */
  nextPause(repositories: Repositories): Promise<number | undefined>;
  /** Ends a batch of rows that failed for too long. */
  giveUp(repositories: Repositories): Promise<(Row & { lastFailure: string | undefined })[]>;
  /** Records a failed attempt; returns the seconds until the next one, or undefined when the row is gone. */
  fail(row: Row, reason: string): Promise<number | undefined>;
  /** Ends a row that no attempt can help; false when it was ended before. */
  end(repositories: Repositories, row: Row, reason: string): Promise<boolean>;
}

export interface Channel<Row> {
  /** Of the notifications that wake it. */
  name: string;
  queue: Queue<Row>;
  /** Does what the rows of a batch ask for and ends them, except those that it returns. */
  handle(rows: readonly Row[]): Promise<Failure<Row>[]>;
  /** Records that a row is given up, in the transaction that ends it. */
  recordEnd(repositories: Repositories, row: Row): Promise<void>;
  /** The members of a row's log lines, and the messages. */
  facts(row: Row): Record<string, unknown>;
  messages: { failed: string; givenUp: string; unread: string; unrecorded: string };
}

export function startChannel<Row>(channel: Channel<Row>, store: Store, logger: Logger): DeliveryWorker {
  const { queue, messages } = channel;

  async function look(underWay: UnderWay): Promise<number | undefined> {
    const { givenUp, batches, pause } = await store.transaction(async (repositories) => {
      const givenUp = await queue.giveUp(repositories);
      for (const row of givenUp) await channel.recordEnd(repositories, row);
      const pause = await queue.nextPause(repositories);
      return { givenUp, batches: await queue.claim(repositories, underWay.names), pause };
    });
    for (const row of givenUp) logGivenUp(row, row.lastFailure);
    for (const { name, rows } of batches) underWay.add(name, handle(rows));
    return pause;
  }

  async function handle(rows: readonly Row[]): Promise<void> {
    for (const { row, reason, isPermanent = false } of await channel.handle(rows)) {
      if (isPermanent) await giveUp(row, reason);
      else await retry(row, reason);
    }
  }

  async function retry(row: Row, reason: string): Promise<void> {
    const pause = await queue.fail(row, reason);
    logger.warn({ ...channel.facts(row), reason, pause }, messages.failed);
  }

  async function giveUp(row: Row, reason: string): Promise<void> {
    await store.transaction(async (repositories) => {
      if (await queue.end(repositories, row, reason)) await channel.recordEnd(repositories, row);
    });
    logGivenUp(row, reason);
  }

  const logGivenUp = (row: Row, reason: string | undefined) =>
    logger.warn({ ...channel.facts(row), reason }, messages.givenUp);

  return startDeliveryLoop({ look, failures: { look: messages.unread, work: messages.unrecorded }, logger });
}
