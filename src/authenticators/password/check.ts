// The one way to check a password: for every page that takes one, with the limits that hold across all of them and all instances (security R60 to R64).
import { randomInt } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import type { SecretBox } from '../../crypto/secret-box.ts';
import {
  isUsableHash,
  PasswordHashingBusy,
  type PasswordHashing,
  type PasswordPlace,
} from '../../crypto/password-hashing.ts';
import { DatabaseUnavailable } from '../../database/database.ts';
import type { Limits } from '../../repositories/rate-limits/rate-limits.ts';
import type { Store } from '../../repositories/store.ts';
import type { User } from '../../repositories/users/users.ts';
import type { AuditTrail } from '../../server/audit.ts';
import { createDecoys } from './dummy-hash.ts';
import type { DeviceCookies } from '../../browser/device-cookie.ts';
import { clientAddress, networkOf } from '../../server/network.ts';
import { createTurns } from '../../domain/keyed-mutex.ts';

export type PasswordAnswer =
  /** `resetsFailures` where the failures of strangers are left to the sign-in to forget. */
  | { outcome: 'right'; user: { sub: string; passwordHash: string }; resetsFailures: boolean }
  /** Unknown, wrong, disabled, or tried too often: whoever asks cannot tell. */
  | { outcome: 'wrong'; sub: string | undefined }
  /** Too many from this network, or too many for the service; `wait` in seconds. */
  | { outcome: 'throttled'; wait: number }
  | { outcome: 'busy'; wait: number };

export interface PasswordCheckOptions {
  store: Store;
  passwords: PasswordHashing;
  /** Whose key says of which kind the hash of an unknown name seems to be. */
  secretBox: Pick<SecretBox, 'mac'>;
  limits: Limits;
  deviceCookies: DeviceCookies;
  audit: AuditTrail;
  /** Failures in a row before an account's first pause; 0 for no limit. */
  freeFailures: number;
}

/**
 * @param options.signingIn what counted until then is forgotten with the sign-in that follows, and not before
 * @throws DatabaseUnavailable: what cannot be counted is not tried (security R64)
 */
export type CheckPassword = (
  request: FastifyRequest,
  username: string,
  password: string,
  options?: { signingIn?: boolean },
) => Promise<PasswordAnswer>;

/** Seconds; not the same for all, so that those who were refused at once do not come back at once. */
const busyWait = () => randomInt(2, 6);

export function createPasswordCheck(options: PasswordCheckOptions): CheckPassword {
  const { store, passwords, limits, deviceCookies, audit, freeFailures } = options;
  const decoys = createDecoys(options);
  // Strangers' tries at one name: each counts as a failure until its password was looked at, so of many at once that are right those beyond
  // the limit would be told that they are wrong. By the name as it was typed: a wait must not tell that two names are one account's.
  const turns = createTurns((error) => error instanceof DatabaseUnavailable);
  // one in each turn of the event loop: a crowd that is refused does not hold up whoever comes beside it (security R102)
  let refusals: Promise<void> = Promise.resolve();

  return async (request, username, password, { signingIn = false } = {}) => {
    const known = await findKnown(request, username);
    // a known browser is a network of its own: what others do beside it does not count
    const network = known ? `browser of ${known.sub}` : networkOf(clientAddress(request));
    const wait = limits.blocked('signInPerNetwork', network) || (await limits.consume('signInPerNetwork', network));
    if (wait > 0) return { outcome: 'throttled', wait };
    try {
      const tried = { username, password, signingIn };
      return await passwords.admit(
        (place) =>
          known
            ? look(request, tried, place, known)
            : turns.take(username, () => look(request, tried, place, undefined)),
        { first: known !== undefined },
      );
    } catch (error) {
      if (!(error instanceof PasswordHashingBusy)) throw error;
      await (refusals = refusals.then(() => nextTurn()));
      return { outcome: 'busy', wait: busyWait() };
    }
  };

  interface Known {
    hash: Buffer;
    sub: string;
  }

  /** Counts the try, looks at the password, and takes the count back where it is right. */
  async function look(
    request: FastifyRequest,
    { username, password, signingIn }: { username: string; password: string; signingIn: boolean },
    place: PasswordPlace,
    known: Known | undefined,
  ): Promise<PasswordAnswer> {
    const full = known ? 0 : await countStranger();
    if (full > 0) return { outcome: 'busy', wait: full };
    const user = await store.users.findByLogin(username);
    const account = { sub: user?.sub, name: username.normalize('NFKC').trim().toLowerCase() };
    const failures = await reserve(account, known);
    const reserved = failures > 0;
    if (!reserved) await audit(request, { type: 'user.locked_out', outcome: 'failure', sub: user?.sub });
    const stored = reserved && user?.status === 'enabled' ? usable(request, user) : undefined;
    // what is not looked at takes as long as it would
    const right = await place.verify(stored, password, await decoys.standIn(stored, user, account.name));
    if (!right || !user || stored === undefined) return { outcome: 'wrong', sub: user?.sub };
    // at once where another one's sign-in is still under way: those that come in the meantime must not add up
    const resetsFailures = signingIn && !known && failures === 1;
    await forgive(account, known, resetsFailures);
    const { sub } = user;
    if (!passwords.needsRehash(stored))
      return { outcome: 'right', user: { sub, passwordHash: stored }, resetsFailures };
    const stronger = await place.hash(password);
    if (await store.users.rehash(sub, stored, stronger))
      return { outcome: 'right', user: { sub, passwordHash: stronger }, resetsFailures };
    // another sign-in was faster with that, or the password was changed
    const present = (await store.users.find(sub))?.passwordHash;
    if (present === undefined || !(await place.verify(present, password))) return { outcome: 'wrong', sub };
    return { outcome: 'right', user: { sub, passwordHash: present }, resetsFailures };
  }

  /** The account that is meant, if this browser is known for it. */
  async function findKnown(request: FastifyRequest, username: string): Promise<Known | undefined> {
    const hash = deviceCookies.hash(request);
    if (!hash) return undefined;
    const sub = (await store.users.findByLogin(username))?.sub;
    // asked for nobody, too: else the clock of a refusal, before any hash, tells which names there are (security R60)
    const knows = await store.knownBrowsers.knows(hash, sub ?? '', freeFailures);
    return knows && sub !== undefined ? { hash, sub } : undefined;
  }

  /** Counts a try as one of the failures of all strangers; seconds to wait when it is one too many, else 0. */
  async function countStranger(): Promise<number> {
    return limits.blocked('signInFailures', 'all') || limits.consume('signInFailures', 'all');
  }

  /** Counts the try as a failure, before it is one, in the database alone: parallel tries on all instances see each other. */
  async function reserve(account: { sub: string | undefined; name: string }, known: Known | undefined) {
    if (freeFailures === 0) return 1;
    return known
      ? store.knownBrowsers.reserve(known.hash, known.sub, freeFailures)
      : store.signInFailures.reserve(account, freeFailures);
  }

  /** The try was none. What a known browser counted goes as it is remembered anew. @param later what the account counted goes with the sign-in */
  async function forgive(
    account: { sub: string | undefined; name: string },
    known: Known | undefined,
    later: boolean,
  ): Promise<void> {
    if (known) return store.signInFailures.reopen(account, freeFailures);
    const givenBack = limits.giveBack('signInFailures', 'all');
    await (later ? givenBack : Promise.all([givenBack, store.signInFailures.forget(account)]));
  }

  function usable(request: FastifyRequest, { sub, passwordHash }: User): string | undefined {
    if (passwordHash === undefined || isUsableHash(passwordHash)) return passwordHash;
    request.log.warn({ sub }, 'a stored password hash asks for more than is computed: set the password anew');
    return undefined;
  }
}
