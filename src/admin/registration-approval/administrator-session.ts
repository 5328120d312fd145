// Whether a browser's session is good enough for an administrator's pages.
import type { Session } from '../../repositories/sessions/sessions.ts';
import { recentlyAuthenticated } from '../../browser/recent-sign-in.ts';
import { demandsSecondFactor, type SecondFactorPolicy } from '../../interaction/next-step.ts';

/** The session, or what is in its way: nobody or nobody lately signed in, or without the second factor that is demanded, or no administrator. */
export function administratorSession(
  policy: SecondFactorPolicy,
  session: Session | undefined,
): Session | 'sign-in' | 'forbidden' {
  if (!session) return 'sign-in';
  if (!session.user.admin) return 'forbidden';
  if (demandsSecondFactor(policy, session.user) && !session.amr.includes('mfa')) return 'sign-in';
  return recentlyAuthenticated(session) ? session : 'sign-in';
}
