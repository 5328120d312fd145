// Counts attempts against the rate limits: of all instances together (security R62), or on this instance alone.
import type { Config } from '../../config.ts';
import { digest } from '../../crypto/secrets.ts';
import type { Repositories } from '../../repositories/store.ts';
import { createAttemptCounter } from './attempt-counter.ts';
import { attemptsOf, type LimitName, windowOf } from './limit-definitions.ts';

export interface Limits {
  /** Counts one attempt; returns the seconds to wait if there were too many, else 0. @param max attempts, if the setting does not say it @throws DatabaseUnavailable */
  consume(name: LimitName, key: string, max?: number): Promise<number>;
  /** Refunds an attempt that turned out to be allowed. */
  refund(name: LimitName, key: string): Promise<void>;
  /** Whether this instance knows of any passed limit. If it does not, `blocked` need not be called. */
  readonly anyPassed: boolean;
  /** Returns the seconds to wait if this instance knows that the limit is passed, else 0; runs no statement. */
  blocked(name: LimitName, key: string): number;
  /** Remembers on this instance for some seconds that a limit is passed. */
  block(name: LimitName, key: string, seconds: number): void;
}

/** Keys that this instance remembers for each use. Past this number the oldest is dropped, so that a flood of keys does not fill the memory (security R105). */
const maxKeys = 10_000;

export function createLimits({ rateLimits }: Pick<Repositories, 'rateLimits'>, settings: Config['limits']): Limits {
  const attempts = attemptsOf(settings);
  const count = createAttemptCounter(rateLimits);
  const idOf = (name: LimitName, key: string) => `${name}:${digest('limit', key).toString('base64url')}`;
  /** For each passed limit the time of performance.now() at which its window ends. */
  const passed = new Map<string, number>();
  let lastEnd = -Infinity;

  function remember(id: string, milliseconds: number): void {
    if (passed.size >= maxKeys) passed.delete(passed.keys().next().value!);
    const end = performance.now() + milliseconds;
    passed.set(id, end);
    lastEnd = Math.max(lastEnd, end);
  }

  return {
    async consume(name, key, max = attempts[name]) {
      if (max === 0) return 0;
      const id = idOf(name, key);
      const { points, left } = await count(id, windowOf(name), 'taken');
      if (points <= max) return 0;
      remember(id, left);
      return Math.max(1, Math.ceil(left / 1000));
    },
    async refund(name, key) {
      if (attempts[name] > 0) await count(idOf(name, key), windowOf(name), 'refunded');
    },
    block: (name, key, seconds) => remember(idOf(name, key), seconds * 1000),
    get anyPassed() {
      return lastEnd > performance.now();
    },
    blocked(name, key) {
      if (!this.anyPassed) return 0;
      const end = passed.get(idOf(name, key));
      return end === undefined ? 0 : Math.max(0, Math.ceil((end - performance.now()) / 1000));
    },
  };
}

const instanceWindow = 60_000; // milliseconds

/**
 * Makes a function that counts a call by its key on this instance alone, in windows of a minute, for calls that come too often to be
 * counted in the database. It returns the seconds to wait when the call is one too many, else 0.
 * @param max calls a minute for each key; 0 for no limit
 */
export function createInstanceLimit(max: number): (key: string) => number {
  const counts = new Map<string, number>();
  let end = 0;
  return (key) => {
    if (max === 0) return 0;
    const now = performance.now();
    if (now >= end) {
      counts.clear();
      end = now + instanceWindow;
    }
    const count = (counts.get(key) ?? 0) + 1;
    if (count === 1 && counts.size >= maxKeys) counts.delete(counts.keys().next().value!);
    counts.set(key, count);
    return count > max ? Math.ceil((end - now) / 1000) : 0;
  };
}
