// Clients as every request needs them: read through a small cache that a database notification empties at once.
import type { Client } from './clients.ts';
import type { Store } from './index.ts';

export interface ClientCache {
  find(clientId: string): Promise<Client | undefined>;
  /** Forgets one client, or all when notifications may have been missed. */
  forget(clientId: string | undefined): void;
}

// Whatever happens to the notification, a change is in force within a second.
const maxAge = 900; // milliseconds
const maxEntries = 10_000;

export function createClientCache(store: Store): ClientCache {
  const entries = new Map<string, { client: Promise<Client | undefined>; until: number }>();
  return {
    find(clientId) {
      const now = performance.now();
      const hit = entries.get(clientId);
      if (hit && hit.until > now) return hit.client;
      const client = store.clients.find(clientId);
      const entry = { client, until: now + maxAge };
      if (entries.size >= maxEntries) entries.delete(entries.keys().next().value!);
      entries.set(clientId, entry);
      const drop = () => {
        if (entries.get(clientId) === entry) entries.delete(clientId);
      };
      // an unknown id is not kept, so that nobody fills the cache with inventions
      client.then((found) => found ?? drop(), drop);
      return client;
    },
    forget(clientId) {
      if (clientId === undefined) entries.clear();
      else entries.delete(clientId);
    },
  };
}
