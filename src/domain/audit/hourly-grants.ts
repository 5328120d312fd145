// Adds the grants of this instance to the hourly counts, which the console's overview shows.
import type { Repositories } from '../../repositories/store.ts';

const interval = 15_000; // milliseconds; a killed instance loses the count since the last interval

export interface HourlyGrants {
  /** Grants that are not yet in the hourly counts. */
  readonly uncounted: number;
  /** Stops, and adds the last grants to the hourly counts. */
  stop(): Promise<void>;
}

/**
 * @param granted returns the number of grants since the start
 * @param onError called if the count could not be stored: the next interval tries again
 */
export function createHourlyGrants(
  { hourlyCounts }: Pick<Repositories, 'hourlyCounts'>,
  granted: () => number,
  onError: (error: unknown) => void,
): HourlyGrants {
  let counted = 0;

  async function count(): Promise<void> {
    const grants = granted() - counted;
    if (grants === 0) return;
    counted += grants;
    try {
      await hourlyCounts.add('grant', grants);
    } catch (error) {
      counted -= grants;
      onError(error);
    }
  }

  const timer = setInterval(() => void count(), interval).unref();
  return {
    get uncounted() {
      return granted() - counted;
    },
    async stop() {
      clearInterval(timer);
      await count();
    },
  };
}
