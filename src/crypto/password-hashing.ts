// Password hashing with Argon2id behind a bounded queue, so that a flood of sign-ins cannot starve the rest (security R102).
import { randomBytes } from 'node:crypto';
import argon2 from 'argon2';
import { readForeignHash } from './foreign-hashes.ts';

/** Too many hashes are waiting: the caller answers 503 with Retry-After. */
export class PasswordHashingBusy extends Error {}

/** What is done in a place: nothing of it is refused for want of room any more. */
export interface PasswordPlace {
  hash(password: string): Promise<string>;
  /**
   * Verifies a password against a stored PHC string; without one (unknown user), or with one that cannot be computed, it does the same
   * work against a decoy and returns false, so that all take the same time.
   * @param decoy in the place of the usual one, where others have hashes of other kinds (decoys.ts)
   */
  verify(stored: string | undefined, password: string, decoy?: string): Promise<boolean>;
}

export interface PasswordHashing extends PasswordPlace {
  /**
   * Takes a place before anything is done for a sign-in, so that what is refused costs nothing; the place is free again once `work` is over.
   * @param options.first comes before the others, and has places of its own
   * @throws PasswordHashingBusy
   */
  admit<T>(work: (place: PasswordPlace) => Promise<T>, options?: { first?: boolean }): Promise<T>;
  /** True when the stored hash has weaker parameters than today's. */
  needsRehash(stored: string): boolean;
  /** How many hashes run now, and how many wait. */
  load(): { running: number; waiting: number };
}

/** How hard Argon2id works. */
export interface PasswordWork {
  /** KiB. */
  memoryCost: number;
  /** Passes. */
  timeCost: number;
}

// OWASP's and decisions.md's floor; node's thread pool has four threads, and signatures need some of them.
const floor: PasswordWork = { memoryCost: 19_456, timeCost: 2 };
/** More than this is refused before any work (bytes of UTF-8). */
export const maxPasswordBytes = 1024;

const unpadded = (bytes: number) => randomBytes(bytes).toString('base64').replace(/=+$/, '');

/** What a stored hash may ask for, wherever it came from: memory in KiB, passes, lanes (security R58). */
const bounds = { m: 131_072, t: 10, p: 4 };
/** Memory times passes: about half a second. */
const mostWork = 524_288;
const phc = /^\$argon2(?:id|i|d)\$v=19\$((?:[mtp]=\d{1,10},?){3})\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{22,86}$/;

/** True for a hash that this service computes or takes over; one that asks for more than is sensible is nobody's password. */
export function isUsableHash(stored: string): boolean {
  return isArgon2(stored) || readForeignHash(stored) !== undefined;
}

function isArgon2(stored: string): boolean {
  const parts = phc.exec(stored)?.[1]?.split(',') ?? [];
  const asked = (name: string) => Number(parts.find((part) => part.startsWith(name))?.slice(2));
  // NaN, of what is not there, is below nothing
  return Object.entries(bounds).every(([name, most]) => asked(name) <= most) && asked('m') * asked('t') <= mostWork;
}

/**
 * @param options.queue how many may wait, and as many again of those that come first; 0 for no end
 * @param options.work less only where the passwords guard nothing
 */
export function createPasswordHashing(options: {
  concurrency: number;
  queue: number;
  work?: PasswordWork | undefined;
}): PasswordHashing {
  const parameters = { type: argon2.argon2id, parallelism: 1, ...(options.work ?? floor) } as const;
  /** How a hash of today's parameters begins. */
  const todays = `$argon2id$v=19$m=${parameters.memoryCost},t=${parameters.timeCost},p=1$`;
  /** Of no password: verifying against it takes as long as against a true one. */
  const decoy = `${todays}${unpadded(16)}$${unpadded(32)}`;
  let running = 0;
  const waiting: Record<'first' | 'others', (() => void)[]> = { first: [], others: [] };
  const places = { first: 0, others: 0 };

  async function inTurn<T>(queue: (() => void)[], work: () => Promise<T>): Promise<T> {
    if (running >= options.concurrency) await new Promise<void>((resolve) => queue.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      // the turn passes on without being released, so that no newcomer slips in between
      const next = waiting.first.shift() ?? waiting.others.shift();
      if (next) next();
      else running--;
    }
  }

  function place(queue: (() => void)[]): PasswordPlace {
    return {
      async hash(password) {
        if (Buffer.byteLength(password) > maxPasswordBytes) throw new RangeError('the password is too long');
        return inTurn(queue, () => argon2.hash(password, parameters));
      },
      async verify(stored, password, like = decoy) {
        if (Buffer.byteLength(password) > maxPasswordBytes) return false;
        const hash = stored !== undefined && isUsableHash(stored) ? stored : like;
        const foreign = readForeignHash(hash);
        const matches = await inTurn(queue, () =>
          (foreign ? foreign(password) : argon2.verify(hash, password)).catch(() => false),
        );
        return matches && hash === stored;
      },
    };
  }

  async function admit<T>(work: (place: PasswordPlace) => Promise<T>, { first = false } = {}): Promise<T> {
    const kind = first ? 'first' : 'others';
    if (options.queue > 0 && places[kind] >= options.concurrency + options.queue)
      throw new PasswordHashingBusy('too many password hashes are waiting');
    places[kind]++;
    try {
      return await work(place(waiting[kind]));
    } finally {
      places[kind]--;
    }
  }

  return {
    admit,
    hash: (password) => admit((own) => own.hash(password)),
    verify: (stored, password, like) => admit((own) => own.verify(stored, password, like)),
    needsRehash: (stored) =>
      !stored.startsWith(todays) && (!stored.startsWith('$argon2id$') || argon2.needsRehash(stored, parameters)),
    load: () => ({ running, waiting: waiting.first.length + waiting.others.length }),
  };
}
