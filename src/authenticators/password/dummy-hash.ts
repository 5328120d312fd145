// What is computed at a sign-in where there is no hash to look at: the same as for people, of each kind in its share (security R60).
import { decoyAt, decoyLike } from '../../crypto/dummy-hashes.ts';
import { isUsableHash } from '../../crypto/password-hashing.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import type { Repositories } from '../../repositories/store.ts';
import type { PasswordKind } from '../../repositories/users/password-kinds.ts';
import type { User } from '../../repositories/users/users.ts';

/** How long it is known which kinds there are, in milliseconds. */
const kept = 10 * 60_000;

export function createDecoys(options: {
  store: Pick<Repositories, 'passwordKinds'>;
  /** Its key says of which kind the hash of an unknown name seems to be. */
  secretBox: Pick<SecretBox, 'mac'>;
}) {
  let known: Promise<PasswordKind[]> | undefined;
  let since = 0;

  /** The first sign-in finds them out; later ones do not wait for news. */
  async function kindsOfHashes(): Promise<PasswordKind[]> {
    const before = known;
    if (before && performance.now() - since < kept) return before;
    since = performance.now();
    known = options.store.passwordKinds.list().catch((error: unknown) => {
      known = before;
      if (before) return before;
      throw error;
    });
    return before ?? known;
  }

  return {
    /**
     * A hash to compute in the place of `stored`; undefined for the usual one. It asks the same of the database for a name that
     * somebody has and for one that nobody has.
     * @param user an account that has to wait, or is disabled, takes as long as it always did
     */
    async standIn(stored: string | undefined, user: User | undefined, name: string): Promise<string | undefined> {
      const kinds = await kindsOfHashes();
      if (stored !== undefined) return undefined;
      if (user?.passwordHash !== undefined && isUsableHash(user.passwordHash)) return decoyLike(user.passwordHash);
      const mac = Buffer.from(options.secretBox.mac('kind of an unknown name', name), 'base64url');
      return decoyAt(mac.readUIntBE(0, 6) / 2 ** 48, kinds);
    },
  };
}
