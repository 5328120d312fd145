// Runs the work of one key in turn, on this instance; the work of different keys runs side by side.

interface Waiting {
  run: () => void;
  fail: (error: unknown) => void;
}

/** @param failsAll whether an error also rejects the work that waits for the same key, because it would fail in the same way */
export function createKeyedMutex(failsAll: (error: unknown) => boolean) {
  /** The work that waits, for each key that is held. */
  const held = new Map<string, Waiting[]>();

  return {
    /** Runs `work` when all earlier work of the key is over. */
    async run<T>(key: string, work: () => Promise<T>): Promise<T> {
      const queue = held.get(key) ?? [];
      if (held.has(key)) await new Promise<void>((run, fail) => queue.push({ run, fail }));
      else held.set(key, queue);
      try {
        return await work();
      } catch (error) {
        if (failsAll(error)) for (const { fail } of queue.splice(0)) fail(error);
        throw error;
      } finally {
        // the key goes to the work that waits longest without being released, so that later work cannot overtake it
        const next = queue.shift();
        if (next) next.run();
        else held.delete(key);
      }
    },
  };
}
