// Notes when each client, connection and resource was last used, and stores that apart from all requests: at most once an hour for each.
import { type UsedKind, usedKinds, type usesRepository } from './uses.ts';

/** Milliseconds. A killed instance loses what it noted since. */
const interval = 60_000;
/** Milliseconds within which further uses are not noted. */
const precision = 3_600_000;

export interface NotedUses {
  /** @param name that of a client or a connection, or the URI of a resource */
  note(kind: UsedKind, name: string): void;
  /** Stores what is noted. */
  store(): Promise<void>;
  /** Stops, and stores what is noted. */
  stop(): Promise<void>;
}

/** @param onError called if the uses could not be stored: the next interval tries again */
export function createNotedUses(
  { uses }: { uses: ReturnType<typeof usesRepository> },
  onError: (error: unknown) => void,
): NotedUses {
  const notes = {
    clients: notesOf((noted) => uses.store('clients', noted), onError),
    connections: notesOf((noted) => uses.store('connections', noted), onError),
    resources: notesOf((noted) => uses.store('resources', noted), onError),
  };
  const store = async () => {
    for (const kind of usedKinds) await notes[kind].store();
  };
  const timer = setInterval(() => void store(), interval).unref();
  return {
    note: (kind, name) => notes[kind].note(name),
    store,
    async stop() {
      clearInterval(timer);
      await store();
    },
  };
}

function notesOf(keep: (noted: ReadonlyMap<string, number>) => Promise<void>, onError: (error: unknown) => void) {
  /** When each was used, since the last storing and before. */
  let fresh = new Map<string, number>();
  const stored = new Map<string, number>();
  return {
    note(name: string): void {
      if (!stored.has(name) && !fresh.has(name)) fresh.set(name, Date.now());
    },
    async store(): Promise<void> {
      const since = Date.now() - precision;
      for (const [name, at] of stored) if (at < since) stored.delete(name);
      if (fresh.size === 0) return;
      const noted = fresh;
      fresh = new Map();
      for (const [name, at] of noted) stored.set(name, at);
      try {
        await keep(noted);
      } catch (error) {
        for (const name of noted.keys()) stored.delete(name);
        fresh = new Map([...fresh, ...noted]);
        onError(error);
      }
    },
  };
}
