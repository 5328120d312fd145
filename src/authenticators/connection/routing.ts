// Finds the connection to which a name leads, and the one that a user of an enforced domain has to use (federation 4). Without such a connection it
// costs one look into the list that the sign-in page has read anyway.
import type { ConnectionKinds } from '../../domain/connections/kinds.ts';
import { routeOf, routeOfDomain } from '../../rules/connections/connection-route.ts';
import type { Connection } from '../../repositories/connections/connections.ts';
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
  /** Those that sign users in at another site, and have domains. */
  const routed = async (): Promise<Connection[]> =>
    (await connections.list()).filter(
      ({ kind, status, domains }) =>
        status === 'enabled' && domains.length > 0 && connectionKinds.get(kind)?.begin !== undefined,
    );
  /** Those that verify passwords which users type at this service's own page: no name leads away to them. */
  const directories = async (): Promise<Connection[]> =>
    (await connections.list()).filter(({ kind, status }) => kind === 'ldap' && status === 'enabled');
  const enforcing = async () =>
    [...(await routed()), ...(await directories())].filter(({ enforced, domains }) => enforced && domains.length > 0);

  const routing = {
    /** Whether the sign-in page asks for the name first. */
    isOn: async (): Promise<boolean> => (await routed()).length > 0,
    /** Whether one of these connections is a directory. */
    takesPasswords: async (ids: readonly string[]): Promise<boolean> =>
      ids.length > 0 && (await directories()).some(({ id }) => ids.includes(id)),
    /** Whether users may type the password of a directory. */
    hasDirectories: async (): Promise<boolean> => (await directories()).length > 0,
    /** The connection to which the domain of a name leads. */
    of: async (name: string): Promise<Connection | undefined> => routeOf(name, await routed()),
    ofDomain: async (domain: string): Promise<Connection | undefined> => routeOfDomain(domain, await routed()),
    /** An enforced connection by its id. */
    enforcedBy: async (id: string): Promise<Connection | undefined> => (await enforcing()).find((one) => one.id === id),
    /** An enforced connection to which this name leads, for every user alike. */
    async enforcedOf(name: string): Promise<Connection | undefined> {
      const connection = routeOf(name, await routed());
      return connection?.enforced ? connection : undefined;
    },
    /** The enforced connection, or directory, of the domain of an address. */
    enforcing: async (address: string): Promise<Connection | undefined> => routeOf(address, await enforcing()),
    /** The connection by which a user has to sign in, and by nothing else; undefined for a user who may sign in here, too. */
    async requiredOf(user: Pick<User, 'sub' | 'username' | 'email'>): Promise<Connection | undefined> {
      const all = await enforcing();
      if (all.length === 0) return undefined;
      const connection =
        (user.email === undefined ? undefined : routeOf(user.email, all)) ?? routeOf(user.username, all);
      return connection && !(await store.breakGlass.has(user.sub)) ? connection : undefined;
    },
    /** Whether the user has a password with which to sign in here. */
    takesPasswordOf: async (user: Pick<User, 'sub' | 'username' | 'email' | 'passwordHash'>): Promise<boolean> =>
      user.passwordHash !== undefined && (await routing.requiredOf(user)) === undefined,
    /** The same as requiredOf() by the user's sub. */
    async requiredBy(sub: string): Promise<Connection | undefined> {
      if ((await enforcing()).length === 0) return undefined;
      const user = await store.users.find(sub);
      return user && routing.requiredOf(user);
    },
  };
  return routing;
}
