// How fresh a sign-in has to be for what must not be done from a browser that was merely left open.
import type { Session } from '../repositories/sessions/sessions.ts';
import type { Destination } from '../pages/return-to.ts';

/** How long a password check is good for, in seconds (security requirement R91). */
export const freshness = 15 * 60;

/** True where the person showed the first factor in this session lately, by the database's clock. */
export function signedInLately(session: Session): boolean {
  return session.now.getTime() - session.authTime.getTime() <= freshness * 1000;
}

/**
 * True where the person has a second factor that this session has not seen: it was set up since, in another browser. Whoever
 * knows the password alone must not go on as its owner there.
 */
export function lacksSecondFactor(session: Session): boolean {
  return session.enrolled && !session.amr.includes('mfa');
}

/** True where the person showed lately all that the account asks for. */
export function isFresh(session: Session): boolean {
  return signedInLately(session) && !lacksSecondFactor(session);
}

/** Where a person shows what is missing, to come back to a page: the second factor alone, if the rest was shown lately. */
export function freshSignInPath(session: Session | undefined, { value }: Destination): string {
  const second = session && signedInLately(session) && lacksSecondFactor(session);
  return `/login${second ? '/second-factor' : ''}?destination=${value}`;
}
