// Counts the attempts of an instance in one database statement at a time, so that no request waits for a row that another one has locked.
import { DatabaseUnavailable } from '../../database/database.ts';
import { now, withinDeadline, withNewDeadline } from '../../database/deadline.ts';
import type { Attempts, Count } from '../../repositories/rate-limits/rate-limits.ts';
import type { Repositories } from '../../repositories/store.ts';

/** Requests that may wait for one statement: they must not fill the memory while the database does not answer (security R108). */
const maxWaiting = 1_000;
const deadlineInterval = 100; // milliseconds

/** The attempts that one statement counts: those that came while the previous statement ran. */
interface Batch {
  attempts: Map<string, Attempts>;
  waiting: Waiting[];
}

interface Waiting {
  /** The deadline, on the clock of now(). */
  until: number;
  resolve(counts: Map<string, Count>): void;
  reject(error: unknown): void;
}

/** Makes the function that counts one attempt; it returns the number of that attempt in its window, and the milliseconds left of the window. */
export function createAttemptCounter(rateLimits: Repositories['rateLimits']) {
  let last: Promise<void> = Promise.resolve();
  let running: Batch | undefined;
  let next: Batch | undefined;
  /** One timer for all waiting requests: a timer for each would cost more than the statement. */
  let timer: NodeJS.Timeout | undefined;

  function nextBatch(): Batch {
    if (next) return next;
    const batch: Batch = (next = { attempts: new Map(), waiting: [] });
    timer ??= setInterval(rejectLate, deadlineInterval).unref();
    last = last.then(async () => {
      running = batch;
      next = undefined;
      try {
        const counts = await withNewDeadline(() => rateLimits.count(batch.attempts));
        for (const each of batch.waiting) each.resolve(counts);
      } catch (error) {
        for (const each of batch.waiting) each.reject(error);
      }
      running = undefined;
    });
    return batch;
  }

  /** Rejects the requests whose deadline has passed. */
  function rejectLate(): void {
    const time = now();
    for (const { until, reject } of [running, next].flatMap((batch) => batch?.waiting ?? []))
      if (time > until) reject(new DatabaseUnavailable('the database was too slow'));
    if (running ?? next) return;
    clearInterval(timer);
    timer = undefined;
  }

  /** @param window in seconds */
  return async (id: string, window: number, change: 'taken' | 'refunded'): Promise<Count> => {
    const batch = nextBatch();
    if (batch.waiting.length >= maxWaiting) throw new DatabaseUnavailable('too many wait for their limits');
    let own = batch.attempts.get(id);
    if (!own) batch.attempts.set(id, (own = { taken: 0, refunded: 0, milliseconds: window * 1000 }));
    const place = ++own[change];
    const counts = await withinDeadline(
      (left) =>
        new Promise<Map<string, Count>>((resolve, reject) => {
          batch.waiting.push({ until: now() + left(), resolve, reject });
        }),
    );
    const { points, left } = counts.get(id)!;
    return { points: points - own.taken + place, left };
  };
}
