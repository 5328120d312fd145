// Decides which passwords may be set, by route or by command (security R59, NIST SP 800-63B-4 3.1.1.2). Lengths are in rules/users/administration.ts.
import { createHash } from 'node:crypto';
import { isCommonPassword } from '../../crypto/common-passwords.ts';
import { normalizedPassword } from '../../crypto/password-hashing.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { FetchRefused, type GuardedFetch } from '../../outbound/guarded-fetch.ts';

/**
 * Refuses a password that attackers try first.
 * @param user a password made of the user's own names is as easy to guess as the names
 * @throws OAuthError invalid_request
 */
export type PasswordPolicy = (
  password: string,
  user: { username?: string | undefined; email?: string | null | undefined },
) => Promise<void>;

/** How many of the forty hexadecimal digits the service sends. */
const prefixLength = 5;
// a range of the largest service has about 2000 lines of 40 bytes, and is padded
const maxRange = 512 * 1024; // bytes

/** @param check the setting PASSWORD_BREACH_CHECK: off, list, or the address of a range service */
export function createPasswordPolicy(
  check: string,
  fetchDocument: GuardedFetch,
  log: { warn(line: object, message: string): void },
): PasswordPolicy {
  /** The range service returns the counts of all passwords whose digests begin with the same digits. */
  async function isBreached(password: string): Promise<boolean> {
    const hash = createHash('sha1').update(password).digest('hex').toUpperCase();
    const options = { headers: { 'add-padding': 'true' }, maxBytes: maxRange };
    const range = await fetchDocument(check + hash.slice(0, prefixLength), ['text/plain'], options);
    // the first line may begin with a byte order mark
    return range
      .replace(/^\uFEFF/, '')
      .split(/\r?\n/)
      .some((line) => {
        const [suffix, count] = line.split(':');
        // padding counts 0
        return suffix?.toUpperCase() === hash.slice(prefixLength) && Number(count) > 0;
      });
  }

  return async (typed, { username, email }) => {
    if (check === 'off') return;
    const password = normalizedPassword(typed);
    const [local, domain = ''] = email?.split('@') ?? [];
    const names = [username, email, local, domain.split('.')[0], 'gatehouse'].filter(
      (name) => typeof name === 'string',
    );
    if (isCommonPassword(password, names))
      throw invalidRequest('the password consists of common words, names or keyboard patterns: choose another');
    if (check === 'list') return;
    const breached = await isBreached(password).catch((error: unknown) => {
      if (!(error instanceof FetchRefused)) throw error;
      // its message begins with the address, which ends in the first digits of the digest
      const reason = error.message.slice(check.length + prefixLength);
      log.warn(
        { reason },
        'the range service of PASSWORD_BREACH_CHECK did not respond: only the built-in list was checked',
      );
      return false;
    });
    if (breached) throw invalidRequest('the password appeared in a data breach: choose another');
  };
}
