// Runs password hashes from a bounded queue, so that a flood of sign-ins cannot starve other requests (security R102).
import { createPasswordHashing, type PasswordHashing, type PasswordWork } from '../../crypto/password-hashing.ts';
import { traced } from '../../outbound/span.ts';

/** Too many hashes wait: the caller answers 503 with Retry-After. */
export class PasswordQueueFull extends Error {}

/** The right to compute hashes, which the queue no longer refuses. */
export type PasswordSlot = Pick<PasswordHashing, 'hash' | 'verify'>;

export interface PasswordQueue extends PasswordHashing {
  /**
   * Runs `work` with a slot, which it acquires before anything else is done for a sign-in, so that a refusal costs nothing.
   * @param options.first comes before the others, and has slots of its own
   * @throws PasswordQueueFull
   */
  acquire<T>(work: (slot: PasswordSlot) => Promise<T>, options?: { first?: boolean }): Promise<T>;
  /** The numbers of running and of waiting hashes. */
  load(): { running: number; waiting: number };
}

/** @param options.queue how many hashes may wait, and how many of those with `first` in addition; 0 for no limit */
export function createPasswordQueue(options: {
  concurrency: number;
  queue: number;
  work?: PasswordWork | undefined;
}): PasswordQueue {
  const hashing = createPasswordHashing(options.work);
  let running = 0;
  const waiting: Record<'first' | 'others', (() => void)[]> = { first: [], others: [] };
  const acquired = { first: 0, others: 0 };

  async function inTurn<T>(queue: (() => void)[], work: () => Promise<T>): Promise<T> {
    if (running >= options.concurrency) await new Promise<void>((resolve) => queue.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      // the slot passes directly to the next waiting request, so that a new one cannot overtake it
      const next = waiting.first.shift() ?? waiting.others.shift();
      if (next) next();
      else running--;
    }
  }

  async function acquire<T>(work: (slot: PasswordSlot) => Promise<T>, { first = false } = {}): Promise<T> {
    const kind = first ? 'first' : 'others';
    if (options.queue > 0 && acquired[kind] >= options.concurrency + options.queue)
      throw new PasswordQueueFull('too many password hashes are waiting');
    acquired[kind]++;
    const queue = waiting[kind];
    try {
      return await work({
        hash: (password) => inTurn(queue, () => traced('password.hash', () => hashing.hash(password))),
        verify: (...values) => inTurn(queue, () => traced('password.verify', () => hashing.verify(...values))),
      });
    } finally {
      acquired[kind]--;
    }
  }

  return {
    acquire,
    hash: (password) => acquire((slot) => slot.hash(password)),
    verify: (...values) => acquire((slot) => slot.verify(...values)),
    load: () => ({ running, waiting: waiting.first.length + waiting.others.length }),
  };
}
