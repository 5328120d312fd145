// Whether a browser's session is good enough for an administrator's pages.
import type { Session } from '../../repositories/sessions/sessions.ts';
import { isFresh } from '../../browser/recent-sign-in.ts';
import { mustShowSecondFactor, type SecondFactorPolicy } from '../../interaction/second-factor-policy.ts';

/** The session, or what is in its way: nobody or nobody lately signed in, or without the second factor that is demanded, or no administrator. */
export function administratorSession(
  policy: SecondFactorPolicy,
  session: Session | undefined,
): Session | 'sign-in' | 'forbidden' {
  if (!session) return 'sign-in';
  if (!session.user.admin) return 'forbidden';
  if (mustShowSecondFactor(policy, session.user) && !session.amr.includes('mfa')) return 'sign-in';
  return isFresh(session) ? session : 'sign-in';
}
