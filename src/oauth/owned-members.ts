// Decides which members of a user a connection owns: it takes them over at each sign-in, so that the user cannot change them here (federation 4).
import { domainOf, isOfDomains } from './mail-domain.ts';

export interface OwningConnection {
  displayName: string;
  status: 'enabled' | 'disabled' | 'link_only';
  sync: 'first' | 'always' | 'never';
  claimRules: readonly { to: string }[];
  authoritativeDomains: readonly string[];
  subdomains: boolean;
}

/** The names of the connections by the claim that each owns; `email` is the address. @param linked those to which the user is linked */
export function ownedMembers(
  linked: readonly OwningConnection[],
  email: string | undefined,
): Readonly<Record<string, string>> {
  const owned = new Map<string, string>();
  const domain = email === undefined ? undefined : domainOf(email);
  for (const { displayName, status, sync, claimRules, authoritativeDomains, subdomains } of linked) {
    // a connection that is switched off, or that was asked once, keeps nothing up to date
    if (status === 'disabled' || sync !== 'always') continue;
    const claims = claimRules.map(({ to }) => to);
    if (domain !== undefined && isOfDomains(domain, authoritativeDomains, subdomains)) claims.push('email');
    for (const claim of claims) if (!owned.has(claim)) owned.set(claim, displayName);
  }
  return Object.fromEntries(owned);
}
