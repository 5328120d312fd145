// Decides where the sign-in page leads a name: the domain of the address alone decides (federation FR12). A pure function over the domains of connections.
import { domainLabel, domainOf } from './mail-domain.ts';

export interface RoutedConnection {
  /** As A-labels. */
  domains: readonly string[];
  /** Whether the domains below these count, too. */
  subdomains: boolean;
}

/** The connection to which the domain of a name leads: the one that has the domain itself, else the nearest domain above. */
export function routeOf<C extends RoutedConnection>(name: string, connections: readonly C[]): C | undefined {
  const domain = domainOf(name);
  return domain === undefined ? undefined : routeOfDomain(domain, connections);
}

/** The connection by which alone users with this address sign in; undefined if they may sign in here, too. */
export function enforcingOf<C extends RoutedConnection & { status: string; enforced: boolean }>(
  address: string,
  connections: readonly C[],
): C | undefined {
  return routeOf(
    address,
    connections.filter(({ status, enforced }) => status === 'enabled' && enforced),
  );
}

/** The same for a domain that a request names. */
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
