// Makes the queue of a channel from its rows of the outbox.
import type { OutboxRow } from '../repositories/outbox/outbox.ts';
import type { Store } from '../repositories/store.ts';
import type { Queue } from './channel.ts';

interface OutboxQueue {
  /** Of the channel. */
  name: string;
  /** How many batches are handled at the same time. */
  parallel: number;
  /** How many rows a batch has at most. */
  batch: number;
  /** Seconds: longer than a batch can take. */
  lease: number;
  /** Seconds after which a row that still fails is given up. */
  deadline: number;
}

export function outboxQueue(
  store: Pick<Store, 'outbox'>,
  { name, parallel, batch, lease, deadline }: OutboxQueue,
): Queue<OutboxRow> {
  return {
    async claim({ outbox }, busy) {
      const free = parallel - busy.size;
      const rows = free > 0 ? await outbox.claim(name, free * batch, lease) : [];
      const batches = Array.from({ length: Math.ceil(rows.length / batch) }, (_, index) =>
        rows.slice(index * batch, (index + 1) * batch),
      );
      return batches.map((each) => ({ name: each[0]!.id, rows: each }));
    },
    nextPause: ({ outbox }) => outbox.nextPause(name),
    giveUp: ({ outbox }) => outbox.giveUp(name, deadline),
    fail: ({ id }, reason) => store.outbox.fail(id, reason),
    end: ({ outbox }, { id }) => outbox.delete(id),
  };
}
