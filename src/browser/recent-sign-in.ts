// Decides whether a session was authenticated recently enough for an operation that an unattended browser must not allow.
import { isKnownAuthTime } from '../oauth/acr.ts';
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

/**
 * When the browser came back from a connection whose answer proved no new sign-in: it asserted no time, or none that was new when the user was
 * asked to sign in there again. To go there again would not help.
 */
export function vainTrip({ upstream, authTime }: Pick<Session, 'authTime'> & { upstream?: Session['upstream'] }) {
  return upstream?.at && (upstream.anew || !isKnownAuthTime(authTime)) ? upstream.at : undefined;
}

/** Whether the user has just come back from a connection, which freshened nothing (federation FR10). */
export function cameBackInVain(session: Pick<Session, 'now' | 'authTime' | 'upstream'>): boolean {
  const trip = vainTrip(session);
  return trip !== undefined && !signedInRecently(session) && signedInRecently({ ...session, authTime: trip });
}

/** Whether a user has a role, or is in a group that gives power. */
export const hasPower = (
  { admin, groups }: Pick<Session['user'], 'admin' | 'groups'>,
  guarded: readonly string[],
): boolean => admin || groups.some((group) => guarded.includes(group));

/**
 * Whether a session whose sign-in is not known to be recent may add the first factor of its user, who could never show a recent one otherwise: the
 * one exception of federation FR10. Nothing else becomes fresh by it.
 * @param guarded the groups that give power
 */
export function mayAddFirstFactor(session: Session, guarded: readonly string[]): boolean {
  const { user, enrolled } = session;
  return !hasPower(user, guarded) && !enrolled && user.passwordHash === undefined && cameBackInVain(session);
}

/** The page on which a user shows the missing factors and returns: only the second factor, if the first one is recent. */
export function reauthenticationPath(session: Session | undefined, { value }: ReturnTo): string {
  const second =
    session &&
    ((signedInRecently(session) && lacksSecondFactor(session)) || (session.enrolled && cameBackInVain(session)));
  return `/login${second ? '/second-factor' : ''}?destination=${value}`;
}
