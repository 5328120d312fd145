// Chooses the connection for a name that a user types: only the domain of the address decides (federation FR12). A pure function over the domains of connections.
import { domainLabel, domainOf } from './mail-domain.ts';

export interface RoutedConnection {
  /** As A-labels. */
  domains: readonly string[];
  /** Whether subdomains of these count, too. */
  subdomains: boolean;
}

/** The connection for the domain of a name: the one that has the domain itself, else the one with the nearest domain above. */
export function routeOf<C extends RoutedConnection>(name: string, connections: readonly C[]): C | undefined {
  const domain = domainOf(name);
  return domain === undefined ? undefined : routeOfDomain(domain, connections);
}

/** The only connection by which users with this address may sign in; undefined if they may also sign in here. */
export function enforcingOf<C extends RoutedConnection & { status: string; enforced: boolean }>(
  address: string,
  connections: readonly C[],
): C | undefined {
  return routeOf(
    address,
    connections.filter(({ status, enforced }) => status === 'enabled' && enforced),
  );
}

/** The only connection by which a user may sign in: the one of the address, else of the user name (federation 4). */
export const requiredOf = <C extends RoutedConnection & { status: string; enforced: boolean }>(
  { email, username }: { email?: string | undefined; username: string },
  connections: readonly C[],
): C | undefined =>
  (email === undefined ? undefined : enforcingOf(email, connections)) ?? enforcingOf(username, connections);

/** The connection for a domain that a request names. */
export function routeOfDomain<C extends RoutedConnection>(named: string, connections: readonly C[]): C | undefined {
  const domain = domainLabel(named);
  if (domain === undefined) return undefined;
  let above = domain;
  for (;;) {
    const found = connections.find(
      ({ domains, subdomains }) => (above === domain || subdomains) && domains.includes(above),
    );
    if (found) return found;
    const dot = above.indexOf('.');
    if (dot < 0) return undefined;
    above = above.slice(dot + 1);
  }
}
