// Verifies a username and a password as the first factor of a sign-in.
import type { Authenticator, FirstFactorRefused } from '../authenticator.ts';
import type { CheckPassword } from './check.ts';

export interface PasswordAuthenticatorOptions {
  checkPassword: CheckPassword;
}

const refused = (sub: string | undefined): FirstFactorRefused => ({
  outcome: 'refused',
  problem: 'credentials',
  fields: ['username', 'password'],
  event: { sub },
});

export const createPasswordAuthenticator = ({ checkPassword }: PasswordAuthenticatorOptions): Authenticator => ({
  id: 'password',
  factors: 1,
  first: {
    path: '/login',
    fields: { username: 320, password: 4096 },
    async begin() {
      return {};
    },
    async finish({ request }, { username, password }) {
      if (username === undefined || password === undefined) {
        const fields = [
          ...(username === undefined ? ['username'] : []),
          ...(password === undefined ? ['password'] : []),
        ];
        return { outcome: 'refused', problem: 'missing', fields };
      }
      const answer = await checkPassword(request, username, password, { signingIn: true });
      if (answer.outcome === 'wrong') return refused(answer.sub);
      if (answer.outcome !== 'right') return { outcome: 'refused', problem: answer.outcome, wait: answer.wait };
      const { user, resetsFailures } = answer;
      return { outcome: 'verified', user: { ...user, amr: ['pwd'], resetsFailures }, late: refused(user.sub) };
    },
  },
});
