// Whether a browser's session is good enough for an administrator's pages.
import type { Session } from '../repositories/sessions.ts';
import { isFresh } from './fresh-sign-in.ts';

/** The session, or what is in its way: nobody or nobody lately signed in, or somebody who is no administrator. */
export function administratorSession(session: Session | undefined): Session | 'sign-in' | 'forbidden' {
  if (!session) return 'sign-in';
  if (!session.user.admin) return 'forbidden';
  return isFresh(session) ? session : 'sign-in';
}
