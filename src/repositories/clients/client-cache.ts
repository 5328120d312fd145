// Reads clients through a small cache, which a notification of the database clears at once.
import type { Client } from './clients.ts';
import type { Store } from '../store.ts';

export interface ClientCache {
  /**
   * @param suits the caller's condition: a cached client that fails it is read again. So no request is refused because of a stale
   * entry, and every refusal costs the same queries, whatever its cause (security R2, R39).
   */
  find(clientId: string, suits?: (client: Client) => boolean): Promise<Client | undefined>;
  /** Removes one client, or all (undefined) when notifications may have been missed. */
  forget(clientId: string | undefined): void;
}

interface Entry {
  client: Promise<Client | undefined>;
  /** The same client once it is read. */
  known: Client | undefined;
  until: number;
}

// A change takes effect within a second even if the notification is lost.
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
      // unknown ids are not cached, so that invented ones cannot fill the cache
      if (found) entry.known = found;
      else drop();
    }, drop);
    return client;
  }
  return {
    find(clientId, suits = () => true) {
      const hit = entries.get(clientId);
      if (!hit || hit.until <= performance.now()) return read(clientId);
      // a client that is already read needs no wait
      if (hit.known) return suits(hit.known) ? hit.client : read(clientId);
      return hit.client.then((client) => (client && suits(client) ? client : read(clientId)));
    },
    forget(clientId) {
      if (clientId === undefined) entries.clear();
      else entries.delete(clientId);
    },
  };
}
