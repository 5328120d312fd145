// Clients as every request needs them: read through a small cache that a database notification empties at once.
import type { Client } from './clients.ts';
import type { Store } from './index.ts';

export interface ClientCache {
  /**
   * @param suits what the caller asks of the client: one that is remembered and does not suit is read again. So nobody is refused
   * by what is only remembered, and a refusal asks the database as often whatever is wrong (security R2, R39).
   */
  find(clientId: string, suits?: (client: Client) => boolean): Promise<Client | undefined>;
  /** Forgets one client, or all when notifications may have been missed. */
  forget(clientId: string | undefined): void;
}

// Whatever happens to the notification, a change is in force within a second.
const maxAge = 900; // milliseconds
const maxEntries = 10_000;

export function createClientCache(store: Store): ClientCache {
  const entries = new Map<string, { client: Promise<Client | undefined>; until: number }>();
  function read(clientId: string): Promise<Client | undefined> {
    const client = store.clients.find(clientId);
    const entry = { client, until: performance.now() + maxAge };
    if (entries.size >= maxEntries) entries.delete(entries.keys().next().value!);
    entries.set(clientId, entry);
    const drop = () => {
      if (entries.get(clientId) === entry) entries.delete(clientId);
    };
    // an unknown id is not kept, so that nobody fills the cache with inventions
    client.then((found) => found ?? drop(), drop);
    return client;
  }
  return {
    async find(clientId, suits = () => true) {
      const hit = entries.get(clientId);
      const client = hit && hit.until > performance.now() ? await hit.client : undefined;
      return client && suits(client) ? client : read(clientId);
    },
    forget(clientId) {
      if (clientId === undefined) entries.clear();
      else entries.delete(clientId);
    },
  };
}
