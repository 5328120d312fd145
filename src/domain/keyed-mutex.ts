// What has to come one after another in this process, and only with its like.

interface Waiting {
  go: () => void;
  fail: (error: unknown) => void;
}

/** @param failsAll whether an error is also that of those who wait: they would meet the same, one after another */
export function createTurns(failsAll: (error: unknown) => boolean) {
  /** Those who wait for each turn, while somebody has it. */
  const lines = new Map<string, Waiting[]>();

  return {
    /** Does the work once all of the same key is over that came before. */
    async take<T>(key: string, work: () => Promise<T>): Promise<T> {
      const line = lines.get(key) ?? [];
      if (lines.has(key)) await new Promise<void>((go, fail) => line.push({ go, fail }));
      else lines.set(key, line);
      try {
        return await work();
      } catch (error) {
        if (failsAll(error)) for (const { fail } of line.splice(0)) fail(error);
        throw error;
      } finally {
        // the turn passes on without being free, so that no newcomer slips in between
        const next = line.shift();
        if (next) next.go();
        else lines.delete(key);
      }
    },
  };
}
