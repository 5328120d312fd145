// How long one request may wait for the database in all: past it the answer is 503, however many statements it takes (security R108).
import { AsyncLocalStorage } from 'node:async_hooks';

/** What is left of a request's waiting, in milliseconds. */
export interface Patience {
  left: number;
}

/** Milliseconds: that a database stands still is told within 3 s, and the machine may be busy too. */
export const patience = 2_500;

/** In milliseconds, by the clock of the process, which nothing moves. */
export const now = () => process.uptime() * 1000;

const current = new AsyncLocalStorage<Patience>();

export const newPatience = (): Patience => ({ left: patience });

/** The request's; outside one, a new one. */
export const currentPatience = (): Patience => current.getStore() ?? newPatience();

/** Runs `work`, and what it begins, with one patience for all its statements. Outside each statement has its own. */
export function withPatience(shared: Patience, work: () => void): void {
  current.run(shared, work);
}

/**
 * Does something with the database and takes the time from the request's patience: other work, such as the hashing of a
 * password, does not count.
 * @param work gets a function that tells how many milliseconds are left
 */
export async function patiently<T>(work: (left: () => number) => Promise<T>): Promise<T> {
  const shared = currentPatience();
  const begin = now();
  const granted = shared.left;
  try {
    return await work(() => granted - (now() - begin));
  } finally {
    // of statements side by side the longest counts
    shared.left = Math.min(shared.left, granted - (now() - begin));
  }
}

/** Does a part of long work, which may wait as long as a request: what is long in all is not made to hurry (an import, an export). */
export function withNewPatience<T>(work: () => Promise<T>): Promise<T> {
  return current.run(newPatience(), work);
}
