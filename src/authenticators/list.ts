// Lists the authenticators that can be a second factor, in the order in which the sign-in offers them.
import type { Authenticator } from './authenticator.ts';
import { type PasskeyAuthenticatorOptions, createPasskeyAuthenticator } from './passkey/second-factor.ts';
import { type RecoveryCodeOptions, createRecoveryCodeAuthenticator } from './recovery-code/recovery-code.ts';
import { type TotpOptions, createTotpAuthenticator } from './totp/totp.ts';

export const createAuthenticators = (
  options: PasskeyAuthenticatorOptions & TotpOptions & RecoveryCodeOptions,
): Authenticator[] => [
  createPasskeyAuthenticator(options),
  createTotpAuthenticator(options),
  createRecoveryCodeAuthenticator(options),
];
