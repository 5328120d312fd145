// Counts a try of a first factor against its network, before it is verified (security R62, R63).
import type { FastifyRequest } from 'fastify';
import type { DeviceCookies } from '../browser/device-cookie.ts';
import type { Limits } from '../domain/rate-limits/rate-limits.ts';
import type { Store } from '../repositories/store.ts';
import { clientAddress, networkOf } from '../server/network.ts';

/**
 * @param sub the user of the account that the form names; undefined for an unknown one
 * @returns `wait`, the seconds to wait if there were too many tries, else 0; `device`, the digest of the device cookie if this browser has
 * one for the account
 * @throws DatabaseUnavailable: a try that cannot be counted is not verified (security R64)
 */
export type CountTry = (
  request: FastifyRequest,
  sub: string | undefined,
) => Promise<{ wait: number; device: Buffer | undefined }>;

export function createCountTry(options: {
  store: Pick<Store, 'knownBrowsers'>;
  deviceCookies: DeviceCookies;
  limits: Limits;
  /** Failures in a row before an account's first pause; 0 for no limit. */
  freeFailures: number;
}): CountTry {
  const { store, deviceCookies, limits, freeFailures } = options;
  return async (request, sub) => {
    const hash = deviceCookies.hash(request);
    // also for an unknown account: the time to a refusal must not reveal which ones exist (security R60)
    const knows = hash !== undefined && (await store.knownBrowsers.knows(hash, sub ?? '', freeFailures));
    const device = knows && sub !== undefined ? hash : undefined;
    // a browser with a device cookie counts as a network: tries of others do not count against it
    const network = device ? `browser of ${sub}` : networkOf(clientAddress(request));
    const wait = limits.blocked('signInPerNetwork', network) || (await limits.consume('signInPerNetwork', network));
    return { wait, device };
  };
}
