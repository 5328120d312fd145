// Declares what the console's pages about connections read beside the operations of the API.
import { wordConfirmations } from '../../../domain/administration/confirmations.ts';
import type { Connection } from '../../../entities/connections.ts';
import { pageOperation } from '../operation.ts';

/** The accounts in the domains of a connection whose address was confirmed by a word only, listed up to `most`. */
export const confirmationsByWord = pageOperation(
  'connections',
  'read',
  ({ store }, { connection, most }: { connection: Connection; most: number }) =>
    wordConfirmations(store, connection, most),
);

/** The names of the connections by their ids, for pages about users. */
export const connectionNames = pageOperation(
  'users',
  'read',
  async ({ store }) => new Map((await store.connections.list()).map(({ id, displayName }) => [id, displayName])),
);

/** When connections were last used, by id. */
export const connectionUses = pageOperation('connections', 'read', ({ store }, ids: readonly string[]) =>
  store.uses.list('connections', ids),
);

/** How many users have no other way to sign in than a connection. */
export const withoutOtherWay = pageOperation('connections', 'read', ({ store }, id: string) =>
  store.connections.withoutOtherWay(id),
);
