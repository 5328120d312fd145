// Verifies a username and a password as the first factor of a sign-in.
import type { Authenticator, FirstFactorRefused } from '../authenticator.ts';
import type { CheckDirectories } from '../directory/directory-passwords.ts';
import type { CheckPassword, PasswordReason } from './check.ts';

export interface PasswordAuthenticatorOptions {
  checkPassword: CheckPassword;
  /** Undefined if the operator allows no directory. */
  checkDirectories: CheckDirectories | undefined;
}

const refused = (sub: string | undefined, reason?: PasswordReason): FirstFactorRefused => ({
  outcome: 'refused',
  problem: 'credentials',
  // the answer does not tell which one is wrong, and the password is typed again
  fields: ['password'],
  event: { sub, ...(reason && { detail: { reason } }) },
});

export const createPasswordAuthenticator = ({
  checkPassword,
  checkDirectories,
}: PasswordAuthenticatorOptions): Authenticator => ({
  id: 'password',
  factors: 1,
  first: {
    path: '/login',
    fields: { username: 320, password: 4096 },
    async begin() {
      return {};
    },
    async finish(context, { username, password }) {
      if (username === undefined || password === undefined) {
        const fields = [
          ...(username === undefined ? ['username'] : []),
          ...(password === undefined ? ['password'] : []),
        ];
        return { outcome: 'refused', problem: 'missing', fields };
      }
      const answer = await checkPassword(context.request, username, password, { signingIn: true });
      if (answer.outcome === 'wrong') {
        const { sub, reason, failure } = answer;
        const elsewhere =
          failure && checkDirectories && (await checkDirectories(context, { username, password }, failure));
        return elsewhere ?? refused(sub, reason);
      }
      if (answer.outcome !== 'right') return { outcome: 'refused', problem: answer.outcome, wait: answer.wait };
      const { user, resetsFailures } = answer;
      return { outcome: 'verified', user: { ...user, amr: ['pwd'], resetsFailures }, late: refused(user.sub) };
    },
  },
});
