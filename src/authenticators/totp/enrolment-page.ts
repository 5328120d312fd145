// Declares the form and the data of the page that sets up an authenticator app, in the account and within a sign-in.
import { z } from 'zod';
import type { User } from '../../repositories/users/users.ts';
import { accountView } from '../../pages/page-response.ts';
import { text } from '../../server/parameters.ts';
import type { NewAuthenticator } from './enrolment.ts';
import type { Pages } from '../../pages/views/index.ts';

export const authenticatorForm = z.object({
  csrf: text(100).optional(),
  transaction: text(100).optional(),
  destination: text(100).optional(),
  set_up: text(1000).optional(),
  code: text(100).optional(),
  name: text(200).optional(),
});

/** Characters. */
const maxName = 60;

/** The name of a second factor, from what the user typed. */
export function factorName(typed: string | undefined): string {
  return [...(typed ?? '').replace(/\s+/g, ' ').trim()].slice(0, maxName).join('').slice(0, maxName);
}

/** @param hidden the form's hidden fields beside the new authenticator */
export function authenticatorView(
  user: User,
  { secret, uri, qr, sealed }: NewAuthenticator,
  action: string,
  hidden: Record<string, string>,
): Omit<Pages['account-authenticator'], 'backUri'> {
  return { account: accountView(user), form: { action, hidden: { ...hidden, set_up: sealed } }, secret, uri, qr };
}
