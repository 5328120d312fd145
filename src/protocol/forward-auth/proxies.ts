// Decides whether a request comes from a proxy of the site: it has the site's secret, or a trusted address (federation 13).
import { BlockList, isIPv4, isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { digest, equalDigests } from '../../crypto/secrets.ts';
import { single } from '../../browser/cookies.ts';
import { opaqueTokenHash } from '../../tokens/opaque-token.ts';
import type { Site } from '../../repositories/sites/sites.ts';
import type { Store } from '../../repositories/store.ts';
import { siteCookie } from './cookies.ts';

const secretHeader = 'x-gatehouse-proxy-secret';

export interface SiteLookupDependencies {
  store: Pick<Store, 'sites'>;
  config: { forwardAuthTrust: readonly string[]; lifetimes: { sessionIdle: number } };
}

/**
 * Finds the site of a host for its proxy, with the session of the browser's cookie.
 * @returns undefined for an unknown host, and for a sender that is no proxy of the site, whatever else it sent
 */
export type FindSite = (request: FastifyRequest, host: string) => Promise<Site | undefined>;

export function createSiteLookup({ store, config }: SiteLookupDependencies): FindSite {
  const trusts = trustOf(config.forwardAuthTrust);
  return async (request, host) => {
    const secret = request.headers[secretHeader];
    // the peer itself, and not the address that its headers name
    const isTrusted = trusts(request.socket.remoteAddress);
    if (!isTrusted && typeof secret !== 'string') return undefined;
    const site = await store.sites.find(host, cookieHash(request), config.lifetimes.sessionIdle);
    if (!site) return undefined;
    return isTrusted || hasSecret(site, secret) ? site : undefined;
  };
}

/** @param networks addresses and CIDR ranges, which the settings have checked */
function trustOf(networks: readonly string[]): (address: string | undefined) => boolean {
  if (networks.length === 0) return () => false;
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    list.addSubnet(address, bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits), family);
  }
  return (address = '') => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

const hasSecret = ({ secretHash }: Site, secret: string | string[] | undefined): boolean =>
  typeof secret === 'string' && secretHash !== undefined && equalDigests(digest('client_secret', secret), secretHash);

/** The digest of the site's cookie if it was sent once, and has the form of one. */
export function cookieHash(request: FastifyRequest): Buffer | undefined {
  const sent = single(request, siteCookie);
  return sent === undefined ? undefined : opaqueTokenHash('site_session', sent);
}
