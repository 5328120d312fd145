// Finds the dummy hash that a sign-in verifies if there is none, of each kind in its share among users (security R60).
import { dummyHashAt, dummyHashLike } from '../../crypto/dummy-hashes.ts';
import { isUsableHash } from '../../crypto/password-hashing.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import type { Repositories } from '../../repositories/store.ts';
import type { PasswordKind } from '../../repositories/users/password-kinds.ts';
import type { User } from '../../repositories/users/users.ts';

/** How long the kinds are cached, in milliseconds. */
const maxAge = 10 * 60_000;

export function createDummyHashes(options: {
  store: Pick<Repositories, 'passwordKinds'>;
  /** Its key decides the kind of the dummy hash of an unknown name. */
  secretBox: Pick<SecretBox, 'mac'>;
}) {
  let known: Promise<PasswordKind[]> | undefined;
  let since = 0;

  /** The first sign-in waits for them; later ones use the cache while it is refreshed. */
  async function kindsOfHashes(): Promise<PasswordKind[]> {
    const before = known;
    if (before && performance.now() - since < maxAge) return before;
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
     * A hash to verify instead of `stored`; undefined for the default one. Known and unknown names cost the same statements.
     * @param user a locked or disabled account takes as long as before
     */
    async find(stored: string | undefined, user: User | undefined, name: string): Promise<string | undefined> {
      const kinds = await kindsOfHashes();
      if (stored !== undefined) return undefined;
      if (user?.passwordHash !== undefined && isUsableHash(user.passwordHash)) return dummyHashLike(user.passwordHash);
      const mac = Buffer.from(options.secretBox.mac('kind of an unknown name', name), 'base64url');
      return dummyHashAt(mac.readUIntBE(0, 6) / 2 ** 48, kinds);
    },
  };
}
