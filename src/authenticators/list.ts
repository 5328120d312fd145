// Lists the authenticators, in the order in which the pages of the sign-in offer them.
import type { Authenticator } from './authenticator.ts';
import { createEmailCodeAuthenticator, type EmailCodeAuthenticatorOptions } from './email-code/email-code.ts';
import { type ConnectionAuthenticatorOptions, createConnectionAuthenticator } from './connection/connection.ts';
import { createPasskeyAuthenticator, type PasskeyAuthenticatorOptions } from './passkey/passkey.ts';
import { createPasswordAuthenticator, type PasswordAuthenticatorOptions } from './password/password.ts';
import { createRecoveryCodeAuthenticator, type RecoveryCodeOptions } from './recovery-code/recovery-code.ts';
import type { CountTry } from './count-try.ts';
import { createTotpAuthenticator, type TotpOptions } from './totp/totp.ts';

/** Everything that an authenticator can depend on; each declares what it needs. */
export type AuthenticatorOptions = PasswordAuthenticatorOptions &
  PasskeyAuthenticatorOptions &
  TotpOptions &
  EmailCodeAuthenticatorOptions &
  ConnectionAuthenticatorOptions &
  RecoveryCodeOptions & { countTry: CountTry };

/** One line for each. */
export const authenticators: ((options: AuthenticatorOptions) => Authenticator)[] = [
  createPasswordAuthenticator,
  createPasskeyAuthenticator,
  createEmailCodeAuthenticator,
  createTotpAuthenticator,
  createRecoveryCodeAuthenticator,
  createConnectionAuthenticator,
];
