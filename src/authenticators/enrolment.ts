// Records that a user added a second factor, and makes the recovery codes that belong to it.
import type { FastifyRequest } from 'fastify';
import type { Repositories, Store } from '../repositories/store.ts';
import { languagesOf } from '../server/accept-language.ts';
import type { AuditTrail } from '../server/audit.ts';
import { newRecoveryCode, recoveryCodeCount, recoveryCodeHash } from '../tokens/recovery-code.ts';

export type SecondFactorEnrolment = ReturnType<typeof createSecondFactorEnrolment>;

export function createSecondFactorEnrolment({ store, audit }: { store: Store; audit: AuditTrail }) {
  const writeCodes = async ({ recoveryCodes }: Repositories, sub: string): Promise<string[]> => {
    const codes = Array.from({ length: recoveryCodeCount }, newRecoveryCode);
    await recoveryCodes.replace(
      sub,
      codes.map((code) => recoveryCodeHash(sub, code)),
    );
    return codes;
  };

  return {
    /**
     * Records a new second factor, in the transaction that stores it and holds the user's row.
     * @returns the recovery codes, which are shown once; empty if the user has some already
     */
    async added(
      request: FastifyRequest,
      repositories: Repositories,
      sub: string,
      { id, kind }: { id: string; kind: string },
    ): Promise<string[]> {
      // a factor that no sign-in asks for protects nothing (security R127)
      if (!(await repositories.secondFactors.list(sub)).some((factor) => factor.id === id && factor.kind === kind))
        throw new Error(`a second factor of the kind ${kind} is not among those that a sign-in asks for`);
      const event = {
        type: 'user.second_factor_added',
        outcome: 'success',
        actor: sub,
        sub,
        detail: { kind },
      } as const;
      await audit(request, { ...event, languages: languagesOf(request) }, repositories);
      if ((await repositories.recoveryCodes.count(sub)) > 0) return [];
      // a change of address that was ordered with the password alone
      await repositories.mailedLinks.cancelChanges(sub);
      return writeCodes(repositories, sub);
    },

    /** Replaces the recovery codes; returns none for a user without a second factor. */
    renewRecoveryCodes: (request: FastifyRequest, sub: string): Promise<string[]> =>
      store.transaction(async (repositories) => {
        await repositories.users.lock(sub);
        if (!(await repositories.secondFactors.mfaStatus(sub))?.enrolled) return [];
        const event = { type: 'user.recovery_codes_renewed', outcome: 'success', actor: sub, sub } as const;
        await audit(request, { ...event, languages: languagesOf(request) }, repositories);
        return writeCodes(repositories, sub);
      }),
  };
}
