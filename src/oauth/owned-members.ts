// Decides which members of a user a connection owns, so that the user cannot change them here: it takes them over at each sign-in (federation 4).
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

/** The names of the connections by the claim that each owns; `email` is the address. @param linked those to which the user is linked */
export function ownedMembers(
  linked: readonly OwningConnection[],
  email: string | undefined,
): Readonly<Record<string, string>> {
  const owned = new Map<string, string>();
  const domain = email === undefined ? undefined : domainOf(email);
  for (const connection of linked) {
    const { displayName, status, sync, claimRules, authoritativeDomains, domains, enforced, subdomains } = connection;
    const isOf = (ones: readonly string[]) => domain !== undefined && isOfDomains(domain, ones, subdomains);
    if (status === 'disabled') continue;
    // a connection that was asked once keeps nothing up to date
    const keeps = sync === 'always';
    const claims = keeps ? claimRules.map(({ to }) => to) : [];
    // with an address elsewhere, a user of an enforced domain could sign in another way from then on
    const isHeld = enforced && status === 'enabled' && isOf(domains);
    if (isHeld || (keeps && isOf(authoritativeDomains))) claims.push('email');
    for (const claim of claims) if (!owned.has(claim)) owned.set(claim, displayName);
  }
  return Object.fromEntries(owned);
}
