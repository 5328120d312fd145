// What has to come one after another in this process, and only with its like.

export type Turns = ReturnType<typeof createTurns>;

export function createTurns() {
  /** Those who wait for each turn, with who has it. */
  const lines = new Map<string, (() => void)[]>();

  return {
    /**
     * Does the work once all of the same key is over that came before.
     * @param work gets a function that tells whether somebody waits for it
     */
    async take<T>(key: string, work: (isAwaited: () => boolean) => Promise<T>): Promise<T> {
      const line = lines.get(key);
      const waiting = line ?? [];
      if (line) await new Promise<void>((resolve) => line.push(resolve));
      else lines.set(key, waiting);
      try {
        return await work(() => waiting.length > 0);
      } finally {
        // the turn passes on without being free, so that no newcomer slips in between
        const next = waiting.shift();
        if (next) next();
        else lines.delete(key);
      }
    },
  };
}
