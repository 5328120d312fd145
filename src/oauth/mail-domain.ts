// Reads the domain of an email address as an A-label, by which connections are chosen and vouch.
import { domainToASCII } from 'node:url';

/** Characters that a name of a host never has; some of them a parser of hosts would decode or drop. */
const foreign = /[\s"'%/\\:?#@<>()[\],;]/u;

/** The A-label of a domain that an administrator or an address names; undefined if it is none. */
export function domainLabel(domain: string): string | undefined {
  // first, since compatibility forms of the characters below become these (federation F21)
  const plain = domain.normalize('NFKC');
  if (plain.length > 255 || foreign.test(plain) || plain.startsWith('.') || plain.endsWith('.')) return undefined;
  const label = domainToASCII(plain);
  return /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/.test(label) ? label : undefined;
}

/** The domain of an address; undefined unless the address has one @ and no quotes, so that two readers agree on it (federation F21). */
export function domainOf(address: string): string | undefined {
  const parts = address.normalize('NFKC').trim().split('@');
  if (parts.length !== 2 || parts[0] === '' || parts[0]!.includes('"')) return undefined;
  return domainLabel(parts[1]!);
}

/** Whether a domain is one of these, or is below one of them where that counts. Both are A-labels, and are compared whole. */
export function isOfDomains(domain: string, domains: readonly string[], subdomains: boolean): boolean {
  return domains.some((one) => domain === one || (subdomains && domain.endsWith(`.${one}`)));
}
