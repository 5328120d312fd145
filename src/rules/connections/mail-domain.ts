// Reads the domain of an email address as an A-label. The service chooses connections by it, and decides by it which of them vouch for the address.
import { domainToASCII } from 'node:url';

/** Characters that no host name has. A parser of host names would decode or drop some of them. */
const foreign = /[\s"'%/\\:?#@<>()[\],;]/u;

/** The A-label of a domain that an administrator or an address names; undefined if it is none. */
export function domainLabel(domain: string): string | undefined {
  // NFKC comes first: it turns compatibility forms of the forbidden characters into these characters (federation F21)
  const plain = domain.normalize('NFKC');
  if (plain.length > 255 || foreign.test(plain) || plain.startsWith('.') || plain.endsWith('.')) return undefined;
  const label = domainToASCII(plain);
  // a parser of host names reads these as IP addresses
  if (/(?:^|\.)(?:\d+|0x[\da-f]*)$/i.test(plain)) return undefined;
  return /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$/.test(label)
    ? label
    : undefined;
}

/** The domain of an address. Undefined unless the address has one @ and no quotes, so that all parsers agree on the domain (federation F21). */
export function domainOf(address: string): string | undefined {
  const parts = address.normalize('NFKC').trim().split('@');
  if (parts.length !== 2 || parts[0] === '' || parts[0]!.includes('"')) return undefined;
  return domainLabel(parts[1]!);
}

/** Invisible characters, and dots of other scripts, which a parser of domains may read as a dot. */
const unseen = /\p{Cf}/u;
const otherDots = /[\u3002\uff0e\uff61]/u;
/** A host name without a dot, such as `localhost`. */
const lonelyLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** The address as the service stores it, with the A-label of its domain; undefined if it cannot be stored (security R158). */
export function storedAddress(address: string): string | undefined {
  const at = address.lastIndexOf('@');
  const [local, domain] = [address.slice(0, at), address.slice(at + 1)];
  if (unseen.test(address) || otherDots.test(domain)) return undefined;
  const label = domainOf(address) ?? (/^[^@"]+$/.test(local) ? lonely(domain) : undefined);
  const stored = `${local}@${label}`;
  return label === undefined || stored.length > 320 ? undefined : stored;
}

/** The stored form of a typed text; undefined if the text has that form. For the keys of names, every ASCII text has. */
export function otherForm(typed: string): string | undefined {
  const stored = /[^\x00-\x7f]/.test(typed) ? storedAddress(typed.trim()) : undefined;
  return stored === typed ? undefined : stored;
}

function lonely(domain: string): string | undefined {
  const label = domain.toLowerCase();
  return lonelyLabel.test(label) ? label : undefined;
}

/** Whether a domain is one of these, or with `subdomains` is below one of them. All are A-labels, and are compared whole. */
export function isOfDomains(domain: string, domains: readonly string[], subdomains: boolean): boolean {
  return domains.some((one) => domain === one || (subdomains && domain.endsWith(`.${one}`)));
}
