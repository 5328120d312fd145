// Decides whether a session was authenticated recently enough for an operation that an unattended browser must not allow.
import type { Session } from '../repositories/sessions/sessions.ts';
import type { ReturnTo } from '../pages/return-to.ts';

/** How old the sign-in may be, in seconds (security R91). */
export const maxAuthAge = 15 * 60;

/** True if the user showed the first factor in this session recently, by the database's clock. */
export function signedInRecently(session: Pick<Session, 'now' | 'authTime'>): boolean {
  return session.now.getTime() - session.authTime.getTime() <= maxAuthAge * 1000;
}

/**
 * True if the user has a second factor that this session has not seen, since it was set up in another browser. A session by the
 * password alone must not act as the user then.
 */
export function lacksSecondFactor(session: Pick<Session, 'enrolled' | 'amr'>): boolean {
  return session.enrolled && !session.amr.includes('mfa');
}

/** True if the user recently showed every factor that the account asks for. */
export function recentlyAuthenticated(session: Pick<Session, 'now' | 'authTime' | 'enrolled' | 'amr'>): boolean {
  return signedInRecently(session) && !lacksSecondFactor(session);
}

/** The page on which a user shows the missing factors and returns: only the second factor, if the first one is recent. */
export function reauthenticationPath(session: Session | undefined, { value }: ReturnTo): string {
  const second = session && signedInRecently(session) && lacksSecondFactor(session);
  return `/login${second ? '/second-factor' : ''}?destination=${value}`;
}
