// Finds the address that a request comes from, and the network by which limits count it (decisions section 7).
import { isIP, isIPv4, isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';

/**
 * Returns the address from which a request comes: from the forwarding headers of trusted peers (TRUST_PROXY), else from the socket, also if
 * such a header has no address (security R65).
 */
export function clientAddress(request: FastifyRequest): string | undefined {
  // Fastify's type is wrong: the socket of a client that has disconnected has no address
  return plain(request.ip as string | undefined) ?? plain(request.socket.remoteAddress);
}

/** The address without its zone, and that of IPv4 where a listener of both families writes it as IPv6; undefined if it is none. */
function plain(address: string | undefined): string | undefined {
  const withoutZone = address?.includes('%') ? address.replace(/%.*$/, '') : address;
  if (withoutZone?.startsWith('::ffff:') && isIPv4(withoutZone.slice(7))) return withoutZone.slice(7);
  return withoutZone !== undefined && isIP(withoutZone) ? withoutZone : undefined;
}

/** An IPv4 /24 or an IPv6 /64. */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || isIPv4(address)) return (mapped ?? address).replace(/\.\d+$/, '.0/24');
  if (!isIPv6(address)) return 'unknown';
  const [head = '', tail] = address.split('%')[0]!.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':');
    while (groups.length + rest.length < 8) groups.push('0');
    groups.push(...rest);
  }
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
