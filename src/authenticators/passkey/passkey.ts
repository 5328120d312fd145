// Verifies a passkey as the only factor of a sign-in, or as the second one.
import { ownPasskeys } from '../../pages/return-to.ts';
import type { Store } from '../../repositories/store.ts';
import type { Authenticator, FirstFactorRefused } from '../authenticator.ts';
import { maxCredentialLength, maxPasskeys, type Passkeys } from './passkeys.ts';

/** How the admin API and the audit trail name a passkey. */
export const passkeyKind = 'passkey';

export interface PasskeyAuthenticatorOptions {
  store: Store;
  passkeys: Passkeys;
}

/** The challenge of a second step is good for that step of that user only. */
const bindingOf = (sub: string) => ({ purpose: 'second-factor', of: sub }) as const;

const refused = (sub: string | undefined, passkey: string | undefined, reason: string): FirstFactorRefused => ({
  outcome: 'refused',
  problem: passkeyKind,
  event: { sub, detail: { passkey, reason } },
});

export const createPasskeyAuthenticator = ({ store, passkeys }: PasskeyAuthenticatorOptions): Authenticator => ({
  id: passkeyKind,
  factors: 2,
  enrolment: { path: ownPasskeys.path, max: maxPasskeys, separate: true },
  first: {
    path: '/login/passkey',
    fields: { credential: maxCredentialLength },
    async begin({ request, reply }) {
      const options = passkeys.requestOptions(request, reply, { purpose: 'sign-in' });
      return options === undefined ? undefined : { script: 'passkey.js', options };
    },
    async finish({ request }, { credential = '' }) {
      const checked = await passkeys.check(request, credential, { purpose: 'sign-in' });
      if (checked.outcome === 'throttled') return { outcome: 'refused', problem: 'throttled', wait: checked.wait };
      if (checked.outcome === 'expired') return { outcome: 'refused', problem: 'expired' };
      const { sub, passkey } = checked;
      if (checked.outcome === 'wrong') return refused(sub, passkey, checked.reason);
      const user = { sub: checked.sub, passwordHash: undefined, amr: checked.amr };
      return { outcome: 'verified', user, late: refused(sub, passkey, 'disabled') };
    },
  },
  second: {
    field: { name: 'credential', max: maxCredentialLength },
    async begin({ request, reply, user: { sub } }, enrolled) {
      if (!enrolled.some(({ kind }) => kind === passkeyKind)) return undefined;
      const options = passkeys.requestOptions(request, reply, bindingOf(sub), await store.passkeys.list(sub));
      return options === undefined ? undefined : { script: 'passkey.js', options };
    },
    async finish({ request, user: { sub } }, answer) {
      const checked = await passkeys.check(request, answer, bindingOf(sub), sub);
      if (checked.outcome === 'right') return { outcome: 'verified', amr: [...checked.amr, 'mfa'] };
      if (checked.outcome === 'throttled') return { outcome: 'refused', wait: checked.wait };
      if (checked.outcome === 'expired') return { outcome: 'refused' };
      const { passkey, reason } = checked;
      return { outcome: 'refused', detail: { passkey, reason } };
    },
  },
});
