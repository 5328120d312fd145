// Verifies a recovery code, which replaces another second factor once.
import type { FastifyRequest } from 'fastify';
import type { Store } from '../../repositories/store.ts';
import type { AuditTrail } from '../../server/audit.ts';
import { readRecoveryCode, recoveryCodeHash } from '../../tokens/recovery-code.ts';
import type { Authenticator } from '../authenticator.ts';
import type { CodeAttempts } from '../code-attempts.ts';

export interface RecoveryCodeOptions {
  store: Store;
  audit: AuditTrail;
  attemptCode: CodeAttempts;
}

export function createRecoveryCodeAuthenticator({ store, audit, attemptCode }: RecoveryCodeOptions): Authenticator {
  const use = (request: FastifyRequest, sub: string, code: string): Promise<boolean> =>
    store.transaction(async (repositories) => {
      if (!(await repositories.recoveryCodes.use(recoveryCodeHash(sub, code), sub))) return false;
      const detail = { left: await repositories.recoveryCodes.count(sub) };
      const event = { type: 'user.recovery_code_used', outcome: 'success', actor: sub, sub, detail } as const;
      await audit(request, event, repositories);
      return true;
    });

  return {
    id: 'recovery-code',
    factors: 1,
    second: {
      field: { name: 'recovery_code', max: 100 },
      proves: 'replacement',
      reads: (typed) => readRecoveryCode(typed) !== undefined,
      async begin({ user }) {
        const left = await store.recoveryCodes.count(user.sub);
        return left > 0 ? { input: 'recovery', fallback: true } : undefined;
      },
      async finish({ request, user: { sub } }, answer) {
        const code = readRecoveryCode(answer);
        const right = await attemptCode(
          request,
          sub,
          async () => code !== undefined && (await use(request, sub, code)),
        );
        return right ? { outcome: 'verified', amr: ['otp', 'mfa'] } : { outcome: 'refused', detail: {} };
      },
    },
  };
}
