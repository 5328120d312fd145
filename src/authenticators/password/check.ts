// Verifies a password for every page that takes one, with limits that hold across pages and instances (security R60 to R64).
import { randomInt } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { isUsableHash } from '../../crypto/password-hashing.ts';
import { type PasswordQueue, PasswordQueueFull, type PasswordSlot } from '../../domain/rate-limits/password-queue.ts';
import { DatabaseUnavailable } from '../../database/database.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';
import type { Store } from '../../repositories/store.ts';
import type { User } from '../../repositories/users/users.ts';
import type { AuditTrail } from '../../server/audit.ts';
import { createDummyHashes } from './dummy-hash.ts';
import type { DeviceCookies } from '../../browser/device-cookie.ts';
import type { CountTry } from '../count-try.ts';
import { createKeyedMutex } from '../../domain/rate-limits/keyed-mutex.ts';

export type PasswordAnswer =
  /** `resetsFailures` if the sign-in that follows resets the count of wrong passwords. */
  | { outcome: 'right'; user: { sub: string; passwordHash: string }; resetsFailures: boolean }
  /** Unknown, wrong, disabled, or tried too often: the answer does not tell, only the audit trail. */
  | { outcome: 'wrong'; sub: string | undefined; reason: PasswordReason; failure?: CountedFailure }
  /** Too many tries from this network, or for the whole service; `wait` in seconds. */
  | { outcome: 'throttled'; wait: number }
  | { outcome: 'busy'; wait: number };

/** Why a password was refused, for administrators. */
export type PasswordReason = 'unknown_user' | 'sign_in_paused' | 'user_disabled' | 'no_password' | 'wrong_password';

/** A wrong password that was counted; absent where nothing was counted because the account has to wait. */
export interface CountedFailure {
  /** The account here with the typed name. */
  sub: string | undefined;
  /** Whether the account has a password here. */
  hasPassword: boolean;
  /** Ends the count: the user of this account has shown in another way who the user is. */
  forget(): Promise<void>;
  /** Takes this one back: nothing was verified. */
  takeBack(): Promise<void>;
}

export interface PasswordCheckOptions {
  store: Store;
  passwords: PasswordQueue;
  /** Its key decides the kind of the dummy hash of an unknown name. */
  secretBox: Pick<SecretBox, 'mac'>;
  limits: Limits;
  deviceCookies: DeviceCookies;
  countTry: CountTry;
  audit: AuditTrail;
  /** Failures in a row before an account's first pause; 0 for no limit. */
  freeFailures: number;
}

/**
 * @param options.signingIn leaves the reset of the failure count to the sign-in that follows
 * @throws DatabaseUnavailable: a try that cannot be counted is not verified (security R64)
 */
export type CheckPassword = (
  request: FastifyRequest,
  username: string,
  password: string,
  options?: { signingIn?: boolean },
) => Promise<PasswordAnswer>;

/** In seconds; random, so that refused users do not all retry at the same time. */
const busyWait = () => randomInt(2, 6);

/** The account of a browser with a device cookie. */
interface Known {
  hash: Buffer;
  sub: string;
}

export function createPasswordCheck(options: PasswordCheckOptions): CheckPassword {
  const { store, passwords, limits, deviceCookies, countTry, audit, freeFailures } = options;
  const dummyHashes = createDummyHashes(options);
  // Tries at one name without a device cookie wait for each other: each counts as a failure until it is verified, so of many right ones at
  // once some would exceed the limit. The key is the typed name: a wait must not reveal that two names belong to one account.
  const byName = createKeyedMutex((error) => error instanceof DatabaseUnavailable);
  // one in each turn of the event loop: many refusals at once do not delay other requests (security R102)
  let refusals: Promise<void> = Promise.resolve();

  return async (request, username, password, { signingIn = false } = {}) => {
    // without a device cookie the account is first looked for when the password is verified
    const sub = deviceCookies.hash(request) && (await store.users.findByLogin(username))?.sub;
    const { wait, device } = await countTry(request, sub);
    if (wait > 0) return { outcome: 'throttled', wait };
    const known = device && sub !== undefined ? { hash: device, sub } : undefined;
    try {
      const tried = { username, password, signingIn };
      return await passwords.acquire(
        (slot) =>
          known
            ? verify(request, tried, slot, known)
            : byName.run(username, () => verify(request, tried, slot, undefined)),
        { first: known !== undefined },
      );
    } catch (error) {
      if (!(error instanceof PasswordQueueFull)) throw error;
      await (refusals = refusals.then(() => nextTurn()));
      return { outcome: 'busy', wait: busyWait() };
    }
  };

  /** Counts the try, verifies the password, and takes the count back if it is right. */
  async function verify(
    request: FastifyRequest,
    { username, password, signingIn }: { username: string; password: string; signingIn: boolean },
    slot: PasswordSlot,
    known: Known | undefined,
  ): Promise<PasswordAnswer> {
    const full = known ? 0 : await countUnknownDevice();
    if (full > 0) return { outcome: 'busy', wait: full };
    const user = await store.users.findByLogin(username);
    const account = { sub: user?.sub, name: username.normalize('NFKC').trim().toLowerCase() };
    const failures = await reserve(account, known);
    const reserved = failures > 0;
    if (!reserved) await audit(request, { type: 'user.locked_out', outcome: 'failure', sub: user?.sub });
    const stored = reserved && user?.status === 'enabled' ? usable(request, user) : undefined;
    // a refusal without a hash takes as long as a verification
    const right = await slot.verify(stored, password, await dummyHashes.find(stored, user, account.name));
    if (!right || !user || stored === undefined) {
      const failure: CountedFailure = {
        sub: user?.sub,
        hasPassword: user?.passwordHash !== undefined,
        forget: () => refund(account, known, false),
        takeBack: () => takeBack(account, known, failures),
      };
      const reason = reasonOf(user, reserved, stored !== undefined);
      return { outcome: 'wrong', sub: user?.sub, reason, ...(reserved && { failure }) };
    }
    // only a first failure waits for the sign-in: with more of them under way the count must not add up
    const resetsFailures = signingIn && !known && failures === 1;
    await refund(account, known, resetsFailures);
    const { sub } = user;
    if (!right.outdated) return { outcome: 'right', user: { sub, passwordHash: stored }, resetsFailures };
    const stronger = await slot.hash(password);
    if (await store.users.rehash(sub, stored, stronger))
      return { outcome: 'right', user: { sub, passwordHash: stronger }, resetsFailures };
    // another sign-in has rehashed the password, or it was changed
    const present = (await store.users.find(sub))?.passwordHash;
    if (present === undefined || !(await slot.verify(present, password)))
      return { outcome: 'wrong', sub, reason: 'wrong_password' };
    return { outcome: 'right', user: { sub, passwordHash: present }, resetsFailures };
  }

  /** Counts a try without a device cookie for the whole service; returns the seconds to wait if there are too many, else 0. */
  async function countUnknownDevice(): Promise<number> {
    return limits.blocked('signInFailures', 'all') || limits.consume('signInFailures', 'all');
  }

  /** Counts the try as a failure before it is verified, in the database: parallel tries on all instances see each other. */
  async function reserve(account: { sub: string | undefined; name: string }, known: Known | undefined) {
    if (freeFailures === 0) return 1;
    return known
      ? store.knownBrowsers.reserve(known.hash, known.sub, freeFailures)
      : store.signInFailures.reserve(account, freeFailures);
  }

  /** Takes the count back. The count of a device cookie ends when it is renewed. @param later the sign-in resets the count of the account */
  async function refund(
    account: { sub: string | undefined; name: string },
    known: Known | undefined,
    later: boolean,
  ): Promise<void> {
    if (known) return store.signInFailures.reduce(account, freeFailures);
    const refunded = limits.refund('signInFailures', 'all');
    await (later ? refunded : Promise.all([refunded, store.signInFailures.forget(account)]));
  }

  /** Takes one count back, as if there had been no try. @param failures the consecutive ones with this one */
  async function takeBack(
    account: { sub: string | undefined; name: string },
    known: Known | undefined,
    failures: number,
  ): Promise<void> {
    if (freeFailures === 0) return;
    if (known) return store.knownBrowsers.takeBack(known.hash, known.sub, failures);
    await Promise.all([limits.refund('signInFailures', 'all'), store.signInFailures.takeBack(account, failures)]);
  }

  function usable(request: FastifyRequest, { sub, passwordHash }: User): string | undefined {
    if (passwordHash === undefined || isUsableHash(passwordHash)) return passwordHash;
    request.log.warn({ sub }, 'a stored password hash is too costly to verify: set a new password');
    return undefined;
  }
}

function reasonOf(user: Pick<User, 'status'> | undefined, counted: boolean, hasPassword: boolean): PasswordReason {
  if (!user) return 'unknown_user';
  if (!counted) return 'sign_in_paused';
  if (user.status !== 'enabled') return 'user_disabled';
  return hasPassword ? 'wrong_password' : 'no_password';
}
