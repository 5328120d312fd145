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
  // a parser of hosts reads these as numbers of an address of the network
  if (/(?:^|\.)(?:\d+|0x[\da-f]*)$/i.test(plain)) return undefined;
  return /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$/.test(label)
    ? label
    : undefined;
}

/** The domain of an address; undefined unless the address has one @ and no quotes, so that two readers agree on it (federation F21). */
export function domainOf(address: string): string | undefined {
  const parts = address.normalize('NFKC').trim().split('@');
  if (parts.length !== 2 || parts[0] === '' || parts[0]!.includes('"')) return undefined;
  return domainLabel(parts[1]!);
}

/** Dots of other scripts, which a reader of domains may take for a dot, and characters that are not seen. */
const unseen = /\p{Cf}/u;
const otherDots = /[\u3002\uff0e\uff61]/u;
/** A name of a network of its own, such as `localhost`. */
const lonelyLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** The form in which an address is stored, with the A-label of its domain; undefined if it cannot be stored (security R158). */
export function storedAddress(address: string): string | undefined {
  const at = address.lastIndexOf('@');
  const [local, domain] = [address.slice(0, at), address.slice(at + 1)];
  if (unseen.test(address) || otherDots.test(domain)) return undefined;
  const label = domainOf(address) ?? (/^[^@"]+$/.test(local) ? lonely(domain) : undefined);
  const stored = `${local}@${label}`;
  return label === undefined || stored.length > 320 ? undefined : stored;
}

/** A typed text as a stored address has it; undefined if it is already so, as every text of ASCII characters is for the keys of names. */
export function otherForm(typed: string): string | undefined {
  const stored = /[^\x00-\x7f]/.test(typed) ? storedAddress(typed.trim()) : undefined;
  return stored === typed ? undefined : stored;
}

function lonely(domain: string): string | undefined {
  const label = domain.toLowerCase();
  return lonelyLabel.test(label) ? label : undefined;
}

/** Whether a domain is one of these, or is below one of them where that counts. Both are A-labels, and are compared whole. */
export function isOfDomains(domain: string, domains: readonly string[], subdomains: boolean): boolean {
  return domains.some((one) => domain === one || (subdomains && domain.endsWith(`.${one}`)));
}
