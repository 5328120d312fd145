// How fresh a sign-in has to be for what must not be done from a browser that was merely left open.
import type { Session } from '../repositories/sessions.ts';

/** How long a password check is good for, in seconds (security requirement R91). */
export const freshness = 15 * 60;

/** True where the person showed the password in this session lately, by the database's clock. */
export function isFresh(session: Session): boolean {
  return session.now.getTime() - session.authTime.getTime() <= freshness * 1000;
}
