// Verifies the code of an authenticator app (RFC 6238).
import { readCode, stepOfCode } from '../../crypto/one-time-codes.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import type { Store } from '../../repositories/store.ts';
import { newAuthenticator } from '../../pages/return-to.ts';
import type { Authenticator, SignInEnrolment } from '../authenticator.ts';
import type { CodeAttempts } from '../code-attempts.ts';
import { maxTotpAuthenticators, secretOf, totpKind } from './enrolment.ts';

export interface TotpOptions {
  store: Store;
  secretBox: SecretBox;
  totpEnrolment: SignInEnrolment;
  attemptCode: CodeAttempts;
}

export function createTotpAuthenticator({ store, secretBox, totpEnrolment, attemptCode }: TotpOptions): Authenticator {
  /** True if the code is good. Each code is good once (RFC 6238 5.2). */
  async function use(sub: string, code: string): Promise<boolean> {
    for (const { id, secretEncrypted } of await store.totpAuthenticators.list(sub)) {
      const step = stepOfCode(secretBox.open(secretEncrypted, secretOf(id)), code, Date.now());
      if (step !== undefined && (await store.totpAuthenticators.use(id, step))) return true;
    }
    return false;
  }

  return {
    id: totpKind,
    factors: 1,
    enrolment: { path: newAuthenticator.path, max: maxTotpAuthenticators, signIn: totpEnrolment },
    second: {
      field: { name: 'code', max: 100 },
      reads: (typed) => readCode(typed) !== undefined,
      async begin(_context, enrolled) {
        return enrolled.some(({ kind }) => kind === totpKind) ? { input: 'code' } : undefined;
      },
      async finish({ request, user: { sub } }, answer) {
        const code = readCode(answer);
        const right = await attemptCode(request, sub, async () => code !== undefined && (await use(sub, code)));
        return right ? { outcome: 'verified', amr: ['otp', 'mfa'] } : { outcome: 'refused', detail: {} };
      },
    },
  };
}
