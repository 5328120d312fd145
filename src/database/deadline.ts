// Limits how long one request may wait for the database in total: after that the answer is 503, however many statements it needs (security R108, R152).
import { AsyncLocalStorage } from 'node:async_hooks';

/** The milliseconds for which a request may still wait for the database. */
export interface Deadline {
  left: number;
}

/** Milliseconds: the answer must say within 3 s that the database does not respond, and the machine may be busy too. */
export const databaseLimits = { deadline: 2_500 };

/** Milliseconds on the monotonic clock of the process, which no change of the system time moves. */
export const now = () => process.uptime() * 1000;

const current = new AsyncLocalStorage<Deadline>();

export const newDeadline = (): Deadline => ({ left: databaseLimits.deadline });

/** The deadline of the current request; outside a request, a new one. */
export const currentDeadline = (): Deadline => current.getStore() ?? newDeadline();

/** Runs `work`, and everything that it starts, with one deadline for all statements. Outside it each statement has its own deadline. */
export function withDeadline(deadline: Deadline, work: () => void): void {
  current.run(deadline, work);
}

/**
 * Runs work on the database and subtracts its duration from the request's deadline. Other work, such as hashing a
 * password, is not subtracted.
 * @param work gets a function that returns how many milliseconds are left
 */
export async function withinDeadline<T>(work: (left: () => number) => Promise<T>): Promise<T> {
  const deadline = currentDeadline();
  const begin = now();
  const granted = deadline.left;
  try {
    return await work(() => granted - (now() - begin));
  } finally {
    // of concurrent statements only the longest is subtracted
    deadline.left = Math.min(deadline.left, granted - (now() - begin));
  }
}

/** Runs one part of long work, such as an import or an export, with the full deadline of a request: the total may take longer. */
export function withNewDeadline<T>(work: () => Promise<T>): Promise<T> {
  return current.run(newDeadline(), work);
}
