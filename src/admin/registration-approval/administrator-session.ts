// Checks that a browser's session may use the page on which an administrator approves a registration.
import type { Session } from '../../repositories/sessions/sessions.ts';
import { recentlyAuthenticated } from '../../browser/recent-sign-in.ts';
import { demandsSecondFactor, type SecondFactorPolicy } from '../../rules/access/demands.ts';

/** Returns the session; `sign-in` if it is missing, not recent, or lacks a demanded factor; `forbidden` if the user is no administrator. */
export function administratorSession(
  policy: SecondFactorPolicy,
  session: Session | undefined,
): Session | 'sign-in' | 'forbidden' {
  if (!session) return 'sign-in';
  if (!session.user.admin) return 'forbidden';
  if (demandsSecondFactor(policy, session.user) && !session.amr.includes('mfa')) return 'sign-in';
  return recentlyAuthenticated(session) ? session : 'sign-in';
}
