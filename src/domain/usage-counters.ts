// Counts the grants and connections of this instance for the console's overview, and adds the grants to the hourly counts.
import type { Database } from '../database/database.ts';
import type { Repositories } from '../repositories/store.ts';

const interval = 15_000; // milliseconds; a killed instance loses the count since the last interval

export interface UsageCounters {
  /** Counts a grant for which tokens were issued; asks no database. */
  granted(): void;
  /** Grants that are not yet in the hourly counts. */
  readonly uncounted: number;
  /** The connections of this instance to the database. */
  connections(): ReturnType<Database['connections']>;
  /** Adds the uncounted grants to the hourly counts. */
  count(): Promise<void>;
  /** Stops, and adds the last grants to the hourly counts. */
  stop(): Promise<void>;
}

/** @param onError called if the count could not be stored: the next interval tries again */
export function createUsageCounters(
  { hourlyCounts }: Pick<Repositories, 'hourlyCounts'>,
  database: Pick<Database, 'connections'>,
  onError: (error: unknown) => void,
): UsageCounters {
  let grants = 0;
  const activity: UsageCounters = {
    granted: () => void grants++,
    get uncounted() {
      return grants;
    },
    connections: () => database.connections(),
    async count() {
      if (grants === 0) return;
      const taken = grants;
      grants = 0;
      try {
        await hourlyCounts.add('grant', taken);
      } catch (error) {
        grants += taken;
        onError(error);
      }
    },
    async stop() {
      clearInterval(timer);
      await activity.count();
    },
  };
  const timer = setInterval(() => void activity.count(), interval).unref();
  return activity;
}
