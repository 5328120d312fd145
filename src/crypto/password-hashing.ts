// Hashes and verifies passwords with Argon2id, and verifies the hashes that other systems made.
import { randomBytes } from 'node:crypto';
import argon2 from 'argon2';
import { isWholePassword, readForeignHash } from './foreign-hashes.ts';

export interface PasswordHashing {
  /**
   * Hashes the normalized password.
   * @throws RangeError for a password that is too long
   */
  hash(password: string): Promise<string>;
  /**
   * Verifies a password against a stored PHC string: the normalized one, then the one that was typed if they differ, because other systems
   * and older versions hashed it so. Without a stored one (unknown user), or with one whose cost is over the bounds, it does the same work
   * with a dummy hash, so that every refusal takes the same time.
   * @param dummy replaces the usual dummy hash if other users have hashes of other kinds (dummy-hashes.ts)
   * @returns undefined for a wrong password
   */
  verify(stored: string | undefined, password: string, dummy?: string): Promise<RightPassword | undefined>;
}

export interface RightPassword {
  /** Whether to replace the stored hash by one of the same password. */
  outdated: boolean;
}

/** One password is one text, whatever keyboard it was typed on (security R59, NIST SP 800-63B-4 3.1.1.2). A directory gets it as typed. */
export const normalizedPassword = (typed: string) => typed.normalize('NFKC');

/** The cost parameters of Argon2id. */
export interface PasswordWork {
  /** KiB. */
  memoryCost: number;
  /** Passes. */
  timeCost: number;
}

// The minimum that OWASP names (decisions section 3): Node's thread pool has four threads, and signatures need some of them.
const minimum: PasswordWork = { memoryCost: 19_456, timeCost: 2 };
/** A longer password is refused before any work (bytes of UTF-8). */
const maxPasswordBytes = 1024;
const isTooLong = (password: string) => Buffer.byteLength(password) > maxPasswordBytes;

/** The maximum parameters of a stored hash of any origin: memory in KiB, passes, lanes (security R58). Django uses 8 lanes, which share the work. */
const maxParameters = { m: 131_072, t: 10, p: 8 };
/** Memory times passes: about half a second. */
const maxWork = 524_288;
const phc = /^\$argon2(?:id|i|d)\$v=19\$((?:[mtp]=\d{1,10},?){3})\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{22,86}$/;

/** Whether this service verifies passwords against such a hash: an Argon2 hash of bounded work, or one of the foreign kinds. */
export function isUsableHash(stored: string): boolean {
  return isArgon2(stored) || readForeignHash(stored) !== undefined;
}

function isArgon2(stored: string): boolean {
  const parts = phc.exec(stored)?.[1]?.split(',') ?? [];
  const asked = (name: string) => Number(parts.find((part) => part.startsWith(name))?.slice(2));
  // a missing parameter is NaN, for which the comparison is false
  return Object.entries(maxParameters).every(([name, max]) => asked(name) <= max) && asked('m') * asked('t') <= maxWork;
}

const unpadded = (bytes: number) => randomBytes(bytes).toString('base64').replace(/=+$/, '');

/** @param work below the minimum only if the passwords protect nothing */
export function createPasswordHashing(work: PasswordWork = minimum): PasswordHashing {
  const parameters = { type: argon2.argon2id, parallelism: 1, ...work } as const;
  const prefix = `$argon2id$v=19$m=${parameters.memoryCost},t=${parameters.timeCost},p=1$`;
  /** A hash of no password: verification takes as long as with a real one. */
  const usualDummy = `${prefix}${unpadded(16)}$${unpadded(32)}`;
  return {
    async hash(typed) {
      const password = normalizedPassword(typed);
      if (isTooLong(password)) throw new RangeError('the password is too long');
      return argon2.hash(password, parameters);
    },
    async verify(stored, typed, dummy = usualDummy) {
      const hash = stored !== undefined && isUsableHash(stored) ? stored : dummy;
      const foreign = readForeignHash(hash);
      const normalized = normalizedPassword(typed);
      for (const password of new Set([normalized, typed])) {
        if (isTooLong(password)) continue;
        const matches = await (foreign ? foreign(password) : argon2.verify(hash, password)).catch(() => false);
        if (matches && hash === stored)
          return { outdated: isWholePassword(hash, password) && (password !== normalized || isWeaker(hash)) };
      }
      return undefined;
    },
  };

  function isWeaker(hash: string): boolean {
    return !hash.startsWith(prefix) && (!hash.startsWith('$argon2id$') || argon2.needsRehash(hash, parameters));
  }
}
