// Counts calls that come too often to be counted in the database: on this instance alone, in windows of a minute.

const window = 60_000; // milliseconds
/** Keys that one window counts. Past this number the oldest is dropped, so that a flood of keys does not fill the memory (security R105). */
const maxKeys = 10_000;

/**
 * Makes a function that counts a call by its key; it returns the seconds to wait when the call is one too many, else 0.
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
      end = now + window;
    }
    const count = (counts.get(key) ?? 0) + 1;
    if (count === 1 && counts.size >= maxKeys) counts.delete(counts.keys().next().value!);
    counts.set(key, count);
    return count > max ? Math.ceil((end - now) / 1000) : 0;
  };
}
