// Verifies a passkey as the second factor of a sign-in.
import { ownPasskeys } from '../../pages/return-to.ts';
import type { Store } from '../../repositories/store.ts';
import type { Authenticator } from '../authenticator.ts';
import { maxCredentialLength, maxPasskeys, type Passkeys } from './passkeys.ts';

/** How the admin API and the audit trail name a passkey. */
export const passkeyKind = 'passkey';

export interface PasskeyAuthenticatorOptions {
  store: Store;
  passkeys: Passkeys;
}

/** The challenge of a second step is good for that step of that user only. */
const bindingOf = (sub: string) => ({ purpose: 'second-factor', of: sub }) as const;

export const createPasskeyAuthenticator = ({ store, passkeys }: PasskeyAuthenticatorOptions): Authenticator => ({
  id: passkeyKind,
  factors: 2,
  field: { name: 'credential', max: maxCredentialLength },
  enrolment: { path: ownPasskeys.path, max: maxPasskeys, separate: true },
  async begin({ request, reply, user: { sub } }, enrolled) {
    if (!enrolled.some(({ kind }) => kind === passkeyKind)) return undefined;
    const options = passkeys.requestOptions(request, reply, bindingOf(sub), await store.passkeys.list(sub));
    return options === undefined ? undefined : { id: passkeyKind, script: 'passkey.js', options };
  },
  async finish({ request, user: { sub } }, answer) {
    const checked = await passkeys.check(request, answer, bindingOf(sub), sub);
    if (checked.outcome === 'right') return { outcome: 'verified', amr: [...checked.amr, 'mfa'] };
    if (checked.outcome === 'throttled') return { outcome: 'refused', wait: checked.wait };
    if (checked.outcome === 'expired') return { outcome: 'refused' };
    const { passkey, reason } = checked;
    return { outcome: 'refused', detail: { passkey, reason } };
  },
});
