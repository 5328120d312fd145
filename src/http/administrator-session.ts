// Whether a browser's session is good enough for an administrator's pages, and how fresh a sign-in has to be for dangerous acts.
import type { Session } from '../repositories/sessions.ts';

/** How long a password check is good for, in seconds (security requirement R91). */
export const freshness = 15 * 60;

/** The session, or what is in its way: nobody or nobody lately signed in, or somebody who is no administrator. */
export function administratorSession(session: Session | undefined): Session | 'sign-in' | 'forbidden' {
  if (!session) return 'sign-in';
  if (!session.user.admin) return 'forbidden';
  return session.now.getTime() - session.authTime.getTime() > freshness * 1000 ? 'sign-in' : session;
}
