// Finds the connection for a name, and the connection that a user of an enforced domain must use (federation 4). Without such a connection it only
// searches the list that the sign-in page has read already.
import type { ConnectionKinds } from '../../domain/connections/kinds.ts';
import { requiredOf, routeOf, routeOfDomain } from '../../rules/connections/connection-route.ts';
import type { Connection } from '../../entities/connections.ts';
import type { ConnectionDirectory } from '../../repositories/connections/connection-directory.ts';
import type { Store } from '../../repositories/store.ts';
import type { User } from '../../repositories/users/users.ts';

export type ConnectionRouting = ReturnType<typeof createConnectionRouting>;

export function createConnectionRouting({
  store,
  connections,
  connectionKinds,
}: {
  store: Pick<Store, 'users' | 'breakGlass'>;
  connections: ConnectionDirectory;
  connectionKinds: ConnectionKinds;
}) {
  /** The connections that have domains and sign users in at a provider. */
  const routed = async (): Promise<Connection[]> =>
    (await connections.list()).filter(
      ({ kind, status, domains }) =>
        status === 'enabled' && domains.length > 0 && connectionKinds.get(kind)?.begin !== undefined,
    );
  /** The directories. They verify passwords that users type on this service's own page, so no name leads to another site. */
  const directories = async (): Promise<Connection[]> =>
    (await connections.list()).filter(({ kind, status }) => kind === 'ldap' && status === 'enabled');
  const enforcing = async () =>
    [...(await routed()), ...(await directories())].filter(({ enforced, domains }) => enforced && domains.length > 0);

  const routing = {
    /** Whether the sign-in page asks for the name first. */
    isOn: async (): Promise<boolean> => (await routed()).length > 0,
    /** Whether one of these connections is an enabled directory. */
    takesPasswords: async (ids: readonly string[]): Promise<boolean> =>
      ids.length > 0 && (await directories()).some(({ id }) => ids.includes(id)),
    /** Whether a directory is enabled, so that users may type its passwords. */
    hasDirectories: async (): Promise<boolean> => (await directories()).length > 0,
    /** The connection for the domain of a name. */
    of: async (name: string): Promise<Connection | undefined> => routeOf(name, await routed()),
    ofDomain: async (domain: string): Promise<Connection | undefined> => routeOfDomain(domain, await routed()),
    /** An enforced connection by its id. */
    enforcedBy: async (id: string): Promise<Connection | undefined> => (await enforcing()).find((one) => one.id === id),
    /** The enforced connection for the domain of this name, whether a user has the name or not. */
    async enforcedOf(name: string): Promise<Connection | undefined> {
      const connection = routeOf(name, await routed());
      return connection?.enforced ? connection : undefined;
    },
    /** The enforced connection or directory for the domain of an address. */
    enforcing: async (address: string): Promise<Connection | undefined> => routeOf(address, await enforcing()),
    /** The only connection by which a user may sign in; undefined for a user who may also sign in here. */
    async requiredOf(user: Pick<User, 'sub' | 'username' | 'email'>): Promise<Connection | undefined> {
      const all = await enforcing();
      if (all.length === 0) return undefined;
      const connection = requiredOf(user, all);
      return connection && !(await store.breakGlass.has(user.sub)) ? connection : undefined;
    },
    /** Whether the user has a password, and may sign in with it here. */
    takesPasswordOf: async (user: Pick<User, 'sub' | 'username' | 'email' | 'passwordHash'>): Promise<boolean> =>
      user.passwordHash !== undefined && (await routing.requiredOf(user)) === undefined,
    /** As requiredOf(), by the user's sub. */
    async requiredBy(sub: string): Promise<Connection | undefined> {
      if ((await enforcing()).length === 0) return undefined;
      const user = await store.users.find(sub);
      return user && routing.requiredOf(user);
    },
  };
  return routing;
}
