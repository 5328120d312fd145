// Reads connections for the sign-in page through a small cache. Code that signs a user in reads the row itself.
import type { Connection } from '../../entities/connections.ts';
import type { Store } from '../store.ts';

export interface ConnectionDirectory {
  /** The connections in the order of the sign-in page; at most a second old. */
  list(): Promise<readonly Connection[]>;
}

const maxAge = 900; // milliseconds

export function createConnectionDirectory(store: Pick<Store, 'connections'>): ConnectionDirectory {
  let read: { connections: Promise<readonly Connection[]>; until: number } | undefined;
  return {
    list() {
      if (read && read.until > performance.now()) return read.connections;
      const connections = store.connections.list();
      read = { connections, until: performance.now() + maxAge };
      connections.catch(() => (read = undefined));
      return connections;
    },
  };
}
