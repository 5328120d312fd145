// Signs users in by a connection: the sign-in page has a button for each one, which leads to the provider.
import type { ConnectionKinds } from '../../domain/connections/kinds.ts';
import type { ConnectionDirectory } from '../../repositories/connections/connection-directory.ts';
import { markOf } from '../../pages/connection-mark.ts';
import type { Authenticator } from '../authenticator.ts';

export interface ConnectionAuthenticatorOptions {
  connections: ConnectionDirectory;
  connectionKinds: ConnectionKinds;
}

export const connectionPath = (id: string): string => `/connections/${id}`;

export function createConnectionAuthenticator({
  connections,
  connectionKinds,
}: ConnectionAuthenticatorOptions): Authenticator {
  return {
    id: 'connection',
    factors: 1,
    elsewhere: {
      async ways() {
        const open = (await connections.list()).filter(
          ({ kind, status }) => status === 'enabled' && connectionKinds.get(kind)?.begin !== undefined,
        );
        return open.map((connection) => ({
          id: connection.id,
          name: connection.displayName,
          path: connectionPath(connection.id),
          hidden: connection.hidden,
          ...markOf(connection),
        }));
      },
    },
  };
}
