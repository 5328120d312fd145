// Decides which members of a user a connection owns. It sets them at each sign-in, so the user cannot change them here (federation 4).
import { enforcingOf } from './connection-route.ts';
import { domainOf, isOfDomains } from './mail-domain.ts';

export interface OwningConnection {
  displayName: string;
  status: 'enabled' | 'disabled' | 'link_only';
  sync: 'first' | 'always' | 'never';
  claimRules: readonly { to: string }[];
  authoritativeDomains: readonly string[];
  domains: readonly string[];
  enforced: boolean;
  subdomains: boolean;
}

/**
 * The display names of the owning connections, by claim; `email` is the address.
 * @param linked the connections to which the user is linked
 * @param all every connection: one that enforces the domain of the address owns the address, linked or not (security R158)
 */
export function ownedMembers(
  linked: readonly OwningConnection[],
  email: string | undefined,
  all: readonly OwningConnection[],
): Readonly<Record<string, string>> {
  const owned = new Map<string, string>();
  // with an address of another domain, a user of an enforced domain could sign in another way
  const enforcing = email === undefined ? undefined : enforcingOf(email, all);
  if (enforcing) owned.set('email', enforcing.displayName);
  const domain = email === undefined ? undefined : domainOf(email);
  for (const connection of linked) {
    const { displayName, status, sync, claimRules, authoritativeDomains, subdomains } = connection;
    const isOf = (ones: readonly string[]) => domain !== undefined && isOfDomains(domain, ones, subdomains);
    if (status === 'disabled') continue;
    // a connection with another `sync` does not keep the members up to date
    const keeps = sync === 'always';
    const claims = keeps ? claimRules.map(({ to }) => to) : [];
    if (keeps && isOf(authoritativeDomains)) claims.push('email');
    for (const claim of claims) if (!owned.has(claim)) owned.set(claim, displayName);
  }
  return Object.fromEntries(owned);
}
