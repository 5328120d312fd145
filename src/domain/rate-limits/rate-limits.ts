// Counts attempts against the rate limits, and remembers on this instance which limits are passed (security R62).
import type { Config } from '../../config.ts';
import { digest } from '../../crypto/secrets.ts';
import type { Repositories } from '../../repositories/store.ts';
import { createAttemptCounter } from './attempt-counter.ts';
import { attemptsOf, type LimitName, windowOf } from './limits.ts';

export interface Limits {
  /** Counts one attempt; returns the seconds to wait if there were too many, else 0. @throws DatabaseUnavailable */
  consume(name: LimitName, key: string): Promise<number>;
  /** Refunds an attempt that turned out to be allowed. */
  refund(name: LimitName, key: string): Promise<void>;
  /** Whether this instance knows of any passed limit. If it does not, `blocked` need not be called. */
  readonly anyPassed: boolean;
  /** Returns the seconds to wait if this instance knows that the limit is passed, else 0; runs no statement. */
  blocked(name: LimitName, key: string): number;
  /** Remembers on this instance for some seconds that a limit is passed. */
  block(name: LimitName, key: string, seconds: number): void;
}

const maxRemembered = 10_000;

export function createLimits({ rateLimits }: Pick<Repositories, 'rateLimits'>, settings: Config['limits']): Limits {
  const attempts = attemptsOf(settings);
  const count = createAttemptCounter(rateLimits);
  const idOf = (name: LimitName, key: string) => `${name}:${digest('limit', key).toString('base64url')}`;
  /** For each passed limit the time of performance.now() at which its window ends. */
  const passed = new Map<string, number>();
  let lastEnd = -Infinity;

  function remember(id: string, milliseconds: number): void {
    if (passed.size >= maxRemembered) passed.delete(passed.keys().next().value!);
    const end = performance.now() + milliseconds;
    passed.set(id, end);
    lastEnd = Math.max(lastEnd, end);
  }

  return {
    async consume(name, key) {
      if (attempts[name] === 0) return 0;
      const id = idOf(name, key);
      const { points, left } = await count(id, windowOf(name), 'taken');
      if (points <= attempts[name]) return 0;
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
