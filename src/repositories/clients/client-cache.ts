// Clients as every request needs them: read through a small cache that a database notification empties at once.
import type { Client } from './clients.ts';
import type { Store } from '../store.ts';

export interface ClientCache {
  /**
   * @param suits what the caller asks of the client: one that is remembered and does not suit is read again. So nobody is refused
   * by what is only remembered, and a refusal asks the database as often whatever is wrong (security R2, R39).
   */
  find(clientId: string, suits?: (client: Client) => boolean): Promise<Client | undefined>;
  /** Forgets one client, or all when notifications may have been missed. */
  forget(clientId: string | undefined): void;
}

interface Entry {
  client: Promise<Client | undefined>;
  /** The same once it is there. */
  known: Client | undefined;
  until: number;
}

// Whatever happens to the notification, a change is in force within a second.
const maxAge = 900; // milliseconds
const maxEntries = 10_000;

export function createClientCache(store: Store): ClientCache {
  const entries = new Map<string, Entry>();
  function read(clientId: string): Promise<Client | undefined> {
    const client = store.clients.find(clientId);
    const entry: Entry = { client, known: undefined, until: performance.now() + maxAge };
    if (entries.size >= maxEntries) entries.delete(entries.keys().next().value!);
    entries.set(clientId, entry);
    const drop = () => {
      if (entries.get(clientId) === entry) entries.delete(clientId);
    };
    client.then((found) => {
      // an unknown id is not kept, so that nobody fills the cache with inventions
      if (found) entry.known = found;
      else drop();
    }, drop);
    return client;
  }
  return {
    find(clientId, suits = () => true) {
      const hit = entries.get(clientId);
      if (!hit || hit.until <= performance.now()) return read(clientId);
      // one that is there already costs no wait
      if (hit.known) return suits(hit.known) ? hit.client : read(clientId);
      return hit.client.then((client) => (client && suits(client) ? client : read(clientId)));
    },
    forget(clientId) {
      if (clientId === undefined) entries.clear();
      else entries.delete(clientId);
    },
  };
}
