// Hashes of no password, for user names that nobody has: what is computed for them is of the kinds that people's hashes are of, so that the
// clock does not tell who came from another system, and so exists (security R60).
import { randomInt } from 'node:crypto';

/** The algorithm with its parameters, which tell how long it takes: all before the salt. */
const kindForm = /^(?:\$2[aby]\$\d\d\$|pbkdf2_[a-z0-9]+\$\d+\$|\$[a-z0-9-]+\$(?:v=\d+\$)?[^$]+\$)/;
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Even a single person of a kind hides among so many of a hundred unknown names. */
const leastShare = 0.02;

/** A hash of the same kind and size, of no password. */
export function decoyLike(stored: string): string {
  const kind = kindForm.exec(stored)?.[0] ?? '';
  return kind + stored.slice(kind.length).replace(/[A-Za-z0-9+/.]/g, () => letters[randomInt(letters.length)]!);
}

/**
 * The hash that an unknown name seems to have; undefined for one of this service's own kind.
 * @param place of the name, from 0 to 1: always the same, and known to nobody else, so that a name keeps its kind as a person does
 */
export function decoyAt(place: number, kinds: readonly { sample: string; share: number }[]): string | undefined {
  let end = 0;
  for (const { sample, share } of kinds) {
    end += Math.max(share, leastShare);
    if (place < end) return decoyLike(sample);
  }
  return undefined;
}
