// Reads IP addresses and networks (CIDR, RFC 4632), and decides whether an address is in a network.
import { isIPv4 } from 'node:net';

/** A family and the bits of an address. */
interface Bits {
  length: 32 | 128;
  value: bigint;
}

/** The bits of an address; undefined if it is none. An IPv4 address that is written as IPv6 (::ffff:192.0.2.1) is one of IPv4. */
function bitsOf(address: string): Bits | undefined {
  const octets = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/
    .exec(address)
    ?.slice(1)
    .map(Number);
  if (octets) {
    if (octets.some((octet) => octet > 255)) return undefined;
    return { length: 32, value: octets.reduce((value, octet) => value * 256n + BigInt(octet), 0n) };
  }
  if (!/^[0-9a-f:.]+$/i.test(address) || !address.includes(':') || !URL.canParse(`http://[${address}]/`))
    return undefined;
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const groups = (text = '') => (text === '' ? [] : text.split(':'));
  const [first, last] = [groups(head), groups(tail)];
  const all = [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last];
  const value = all.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
  return value >> 32n === 0xffffn ? { length: 32, value: value & 0xffff_ffffn } : { length: 128, value };
}

/** The network that a text names; undefined if it names none, or has bits beside its prefix. */
function networkOf(text: string): (Bits & { beside: bigint }) | undefined {
  const [address = '', prefix, ...rest] = text.split('/');
  const bits = bitsOf(address);
  // the prefix of an address in the other notation would have another length
  if (!bits || rest.length > 0 || (bits.length === 32 && address.includes(':'))) return undefined;
  if (prefix !== undefined && !/^(0|[1-9]\d{0,2})$/.test(prefix)) return undefined;
  const length = prefix === undefined ? bits.length : Number(prefix);
  if (length > bits.length) return undefined;
  const beside = BigInt(bits.length - length);
  return (bits.value >> beside) << beside === bits.value ? { ...bits, beside } : undefined;
}

/** Whether a text is a network, such as 192.0.2.0/24, or one address. */
export const isNetwork = (text: string): boolean => networkOf(text) !== undefined;

function plainText(address: string, { length, value }: Bits): string {
  if (length === 32) return address;
  // PostgreSQL writes the last part of these as an address of IPv4
  if (value >> 16n > 0n && value >> 32n === 0n)
    return `::${[24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.')}`;
  return new URL(`http://[${address}]/`).hostname.slice(1, -1);
}

/** A network as PostgreSQL writes it, so that one that is stored equals the one that was given; a text that is none as it is. */
export function plainNetwork(text: string): string {
  const network = networkOf(text);
  if (!network) return text;
  const [address = ''] = text.split('/');
  return `${plainText(address, network)}/${network.length - Number(network.beside)}`;
}

/** Whether an address is in one of the networks. @param address undefined if it is unknown: it is in no network */
export function isWithin(networks: readonly string[], address: string | undefined): boolean {
  const bits = address === undefined ? undefined : bitsOf(address);
  if (!bits) return false;
  return networks.some((text) => {
    const network = networkOf(text);
    return network?.length === bits.length && network.value >> network.beside === bits.value >> network.beside;
  });
}

/** An address as PostgreSQL compares it with networks: IPv4 in its own notation. Undefined if it is none. */
export function plainAddress(address: string | undefined): string | undefined {
  // most addresses: each token request asks, also where the client has no networks
  if (address !== undefined && isIPv4(address)) return address;
  const bits = address === undefined ? undefined : bitsOf(address);
  if (bits?.length !== 32) return bits && address;
  return [24n, 16n, 8n, 0n].map((shift) => String((bits.value >> shift) & 255n)).join('.');
}
