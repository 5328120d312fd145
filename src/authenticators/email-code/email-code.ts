// Signs a user in by a code that is sent to the user's confirmed address: the sign-in page leads to the page that asks for the name.
import type { Authenticator } from '../authenticator.ts';
import type { EmailCodes } from './email-codes.ts';

export interface EmailCodeAuthenticatorOptions {
  /** Undefined if the operator allows no sign-in by email. */
  emailCodes: EmailCodes | undefined;
}

/** The page that asks for the name, and the one that asks for the code. */
export const emailPath = '/login/email';
export const emailCodePath = '/login/email/code';

export const createEmailCodeAuthenticator = ({ emailCodes }: EmailCodeAuthenticatorOptions): Authenticator => ({
  id: 'email-code',
  factors: 1,
  first: {
    path: emailPath,
    // not `username`: the sign-in page asks for no name here
    fields: { login: 320 },
    async begin() {
      return emailCodes && {};
    },
    async finish({ request, reply, continuation }, { login }) {
      const { transaction, destination, remember = false } = continuation;
      const query = new URLSearchParams({
        ...(transaction !== undefined && { transaction }),
        ...(destination !== undefined && { destination }),
      });
      const name = login?.trim() ?? '';
      if (!emailCodes || name === '') {
        query.set('problem', 'missing');
        return { outcome: 'continues', path: `${emailPath}?${query}` };
      }
      const wait = await emailCodes.begin(request, reply, name, remember);
      if (wait > 0) return { outcome: 'refused', problem: 'throttled', wait };
      return { outcome: 'continues', path: query.size === 0 ? emailCodePath : `${emailCodePath}?${query}` };
    },
  },
});
