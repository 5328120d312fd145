// Counts calls where they come too often to be counted in the database: on this instance alone, a minute at a time.

const window = 60_000; // milliseconds
/** Keys that are counted at a time: of more the first are forgotten, so that no flood of names fills the memory (security R105). */
const maxKeys = 10_000;

/**
 * Makes a counter of calls by key; it returns how many seconds to wait when a call is one too many, else 0.
 * @param points calls a minute for each key; 0 for no limit
 */
export function createCallLimit(points: number): (key: string) => number {
  const counts = new Map<string, number>();
  let end = 0;
  return (key) => {
    if (points === 0) return 0;
    const now = performance.now();
    if (now >= end) {
      counts.clear();
      end = now + window;
    }
    const count = (counts.get(key) ?? 0) + 1;
    if (count === 1 && counts.size >= maxKeys) counts.delete(counts.keys().next().value!);
    counts.set(key, count);
    return count > points ? Math.ceil((end - now) / 1000) : 0;
  };
}
