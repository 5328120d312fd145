// Password hashing with Argon2id behind a bounded queue, so that a flood of sign-ins cannot starve the rest.
import argon2 from 'argon2';

/** Too many hashes are waiting: the caller answers 503 with Retry-After. */
export class PasswordHashingBusy extends Error {}

export interface PasswordHashing {
  /** @throws PasswordHashingBusy */
  hash(password: string): Promise<string>;
  /**
   * Verifies a password against a stored PHC string; without one (unknown user) it does the same work against a
   * decoy and returns false, so that both take the same time.
   * @throws PasswordHashingBusy
   */
  verify(stored: string | undefined, password: string): Promise<boolean>;
  /** True when the stored hash has weaker parameters than today's. */
  needsRehash(stored: string): boolean;
  /** How many hashes run now, and how many wait. */
  load(): { running: number; waiting: number };
}

// OWASP's and decisions.md's floor; node's thread pool has four threads, and signatures need some of them.
const parameters = { type: argon2.argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
/** More than this is refused before any work (bytes of UTF-8). */
export const maxPasswordBytes = 1024;

export function createPasswordHashing(options: { concurrency: number; queue: number }): PasswordHashing {
  let running = 0;
  const waiting: (() => void)[] = [];
  let decoy: Promise<string> | undefined;

  async function bounded<T>(work: () => Promise<T>): Promise<T> {
    if (running >= options.concurrency) {
      if (options.queue > 0 && waiting.length >= options.queue)
        throw new PasswordHashingBusy('too many password hashes are waiting');
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      running++;
    }
    try {
      return await work();
    } finally {
      // the place passes on without being released, so that no newcomer slips in between
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  }

  return {
    hash: (password) => bounded(() => argon2.hash(password, parameters)),
    async verify(stored, password) {
      if (Buffer.byteLength(password) > maxPasswordBytes) return false;
      if (stored !== undefined) return bounded(() => argon2.verify(stored, password).catch(() => false));
      decoy ??= argon2.hash('no such user', parameters);
      const hash = await decoy;
      await bounded(() => argon2.verify(hash, password));
      return false;
    },
    needsRehash: (stored) => !stored.startsWith('$argon2id$') || argon2.needsRehash(stored, parameters),
    load: () => ({ running, waiting: waiting.length }),
  };
}
