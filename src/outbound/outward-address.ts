// Decides by its text alone whether an address may be stored to be asked later: the guarded fetcher still checks each connection (security R47).
import dns from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

const inward = new BlockList();
const ranges4 =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.168.0.0/16 198.18.0.0/15 224.0.0.0/4 240.0.0.0/4';
const ranges6 = '::/96 ::ffff:0:0/96 64:ff9b::/96 2002::/16 fc00::/7 fe80::/10 ff00::/8';
for (const [type, ranges] of [
  ['ipv4', ranges4],
  ['ipv6', ranges6],
] as const)
  for (const range of ranges.split(' ')) {
    const [network, length] = range.split('/');
    inward.addSubnet(network!, Number(length), type);
  }

const isInward = (address: string): boolean => inward.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');

/** Finds the addresses of a name for a connection that is no request: one of them inside of the service's network ends it (security R47). */
export const guardedLookup: LookupFunction = (hostname, options, callback) =>
  dns.lookup(hostname, options, (error, found, family) => {
    const addresses = Array.isArray(found) ? found.map(({ address }) => address) : [found];
    if (!error && addresses.some(isInward)) callback(new Error('the address is not public'), found, family);
    else callback(error, found, family);
  });

/** @param allowed host:port of services of a test bed, as in OUTBOUND_ALLOW */
export function isOutwardAddress(address: string, allowed: readonly string[]): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, port, username, password, hash } = new URL(address);
  if (username !== '' || password !== '' || hash !== '') return false;
  // a URL takes more characters in a host, such as the semicolon, which would begin another directive of a Content-Security-Policy
  if (!/^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)$/.test(hostname)) return false;
  if (allowed.includes(`${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`))
    return protocol === 'https:' || protocol === 'http:';
  if (protocol !== 'https:') return false;
  const host = hostname.replace(/^\[|\]$/g, '');
  const version = isIP(host);
  if (version !== 0) return !isInward(host);
  return host !== 'localhost' && !host.endsWith('.localhost');
}
