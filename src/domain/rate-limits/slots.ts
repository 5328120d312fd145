// Lets only so many pieces of work of one kind run at a time, on this instance; the others wait in a short queue.

/** Too many wait. */
export class SlotsFull extends Error {}

/** @param options.waiting how many may wait for each key */
export function createSlots(options: { running: number; waiting: number }) {
  const busy = new Map<string, { running: number; queue: (() => void)[] }>();
  return {
    /** @throws SlotsFull */
    async run<T>(key: string, work: () => Promise<T>): Promise<T> {
      const place = busy.get(key) ?? { running: 0, queue: [] };
      busy.set(key, place);
      if (place.running < options.running) place.running++;
      else if (place.queue.length >= options.waiting) throw new SlotsFull('too many wait for a slot');
      else await new Promise<void>((resolve) => place.queue.push(resolve));
      try {
        return await work();
      } finally {
        // the slot passes to the work that waits longest
        const next = place.queue.shift();
        if (next) next();
        else if (--place.running === 0) busy.delete(key);
      }
    },
  };
}
