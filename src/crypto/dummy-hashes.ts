// Makes dummy hashes for unknown names, of the kinds of the users' hashes, so that response times do not reveal which names exist (security R60).
import { randomInt } from 'node:crypto';

/** The algorithm with its parameters, which decide how long it takes: everything before the salt. */
const kindForm = /^(?:(?:bcrypt_sha256\$)?\$2[aby]\$\d\d\$|pbkdf2_[a-z0-9]+\$\d+\$|\$[a-z0-9-]+\$(?:v=\d+\$)?[^$]+\$)/;
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** The least share of a kind among unknown names, so that even a single user of it is hidden. */
const minShare = 0.02;

/** A hash of the same kind and size, of no password. */
export function dummyHashLike(stored: string): string {
  const kind = kindForm.exec(stored)?.[0] ?? '';
  return kind + stored.slice(kind.length).replace(/[A-Za-z0-9+/.]/g, () => letters[randomInt(letters.length)]!);
}

/**
 * The dummy hash of an unknown name; undefined for one of this service's own kind.
 * @param position of the name, from 0 to 1: secret, and always the same, so that a name keeps its kind
 */
export function dummyHashAt(position: number, kinds: readonly { sample: string; share: number }[]): string | undefined {
  let end = 0;
  for (const { sample, share } of kinds) {
    end += Math.max(share, minShare);
    if (position < end) return dummyHashLike(sample);
  }
  return undefined;
}
