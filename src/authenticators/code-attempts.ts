// Limits how often codes are tried at the second step of a sign-in.
import type { FastifyRequest } from 'fastify';
import type { DeviceCookies } from '../browser/device-cookie.ts';
import { securityNotification } from '../browser/security-notification.ts';
import type { Store } from '../repositories/store.ts';
import type { AuditTrail } from '../server/audit.ts';

/** Wrong codes in a row before the first pause if wrong passwords have no limit: six digits are guessed sooner. */
const defaultFreeFailures = 10;

/**
 * Counts a code as wrong, verifies it, and takes the count back if it is right. Wrong codes cost an account the same pauses as wrong
 * passwords, and the answer does not tell a pause from a wrong code. Failures elsewhere do not hold up the user's own browser
 * (security R63). The user gets a mail when a pause begins.
 */
export type CodeAttempts = (request: FastifyRequest, sub: string, verify: () => Promise<boolean>) => Promise<boolean>;

export function createCodeAttempts(options: {
  store: Store;
  audit: AuditTrail;
  deviceCookies: DeviceCookies;
  /** Failures in a row before an account's first pause; 0 for no limit. */
  freeFailures: number;
}): CodeAttempts {
  const { store, audit, deviceCookies } = options;
  const free = options.freeFailures || defaultFreeFailures;

  return async (request, sub, verify) => {
    const account = { sub, name: '', secondFactor: true } as const;
    const cookie = deviceCookies.hash(request);
    const device = cookie && (await store.knownBrowsers.knows(cookie, sub, free)) ? cookie : undefined;
    const failures = await (device
      ? store.knownBrowsers.reserve(device, sub, free)
      : store.signInFailures.reserve(account, free));
    if (failures === 0) {
      await audit(request, { type: 'user.locked_out', outcome: 'failure', sub, detail: { second_factor: true } });
      return false;
    }
    const right = await verify();
    // the sign-in renews the device cookie, and resets its count
    if (right) await (device ? store.signInFailures.reduce(account, free) : store.signInFailures.forget(account));
    else if (failures === free) await store.mails.notify(securityNotification('second-step-failed', request, sub));
    return right;
  };
}
