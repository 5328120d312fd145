// What this instance does, as the console's overview shows it: grants, which it adds to the hourly counts now and then, and its connections.
import type { Database } from '../database/database.ts';
import type { Repositories } from '../repositories/store.ts';

const interval = 15_000; // milliseconds; an instance that is killed loses the count of these

export interface UsageCounters {
  /** Counts a grant for which tokens were issued; asks no database. */
  granted(): void;
  /** Grants that do not stand in the hourly counts yet. */
  readonly uncounted: number;
  /** The connections of this instance to the database. */
  connections(): ReturnType<Database['connections']>;
  /** Adds what is uncounted to the hourly counts. */
  count(): Promise<void>;
  /** Counts for the last time. */
  stop(): Promise<void>;
}

/** @param onError called when the count could not be stored: it is tried again */
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
