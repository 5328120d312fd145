// Counts what differs from the configuration files as they were applied last, for the metric (federation 10).
import { createHash } from 'node:crypto';
import type { OperationContext } from '../operation.ts';
import type { Found } from './noun.ts';
import { fileNouns } from './nouns.ts';

/** What one is like, as it is remembered with its keeper. */
export const stateOf = (found: Found): string =>
  createHash('sha256').update(found.state()).digest('base64url').slice(0, 22);

/** Those that are gone count, too. */
export async function driftOf(context: OperationContext): Promise<number> {
  const kept = await context.store.keptObjects.list();
  const counts = fileNouns().map(async (noun) => {
    const own = kept.filter(({ section }) => section === noun.section);
    if (own.length === 0) return 0;
    const found = new Map((await noun.list(context)).map((one) => [one.key, one]));
    return own.filter(({ key, madeAt, state }) => {
      const now = found.get(key);
      return now?.madeAt !== madeAt || (state !== undefined && stateOf(now) !== state);
    }).length;
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}
