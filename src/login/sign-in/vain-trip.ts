// Decides what follows for a user who comes back to the sign-in page from a connection that did not say when the user signed in there (federation FR10).
import type { ConnectionRouting } from '../../authenticators/connection/routing.ts';
import { cameBackInVain, mayAddFirstFactor, vainTrip } from '../../browser/recent-sign-in.ts';
import type { Config } from '../../config.ts';
import { guardedGroups } from '../../domain/administration/guarded-groups.ts';
import type { PendingRequest } from '../../interaction/pending-request-view.ts';
import type { ReturnTo } from '../../pages/return-to.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';

/** One trip, then an answer: the same page again would only lead there again. */
export type AfterVainTrip =
  | 'password' // the user confirms the sign-in by a password
  | 'first-factor' // the user adds a factor, which is then asked for
  | 'administrator' // the user needs a recovery link
  | undefined; // the visit is another one

interface VainTripDependencies {
  config: Config;
  connectionRouting: Pick<ConnectionRouting, 'takesPasswordOf'>;
}

export function createAfterVainTrip({ config, connectionRouting }: VainTripDependencies) {
  return async (
    session: Session,
    pending: PendingRequest | undefined,
    returnTo: ReturnTo | undefined,
  ): Promise<AfterVainTrip> => {
    if (session.enrolled || !isVain(session, pending, returnTo)) return undefined;
    if (await connectionRouting.takesPasswordOf(session.user)) return 'password';
    // the application was answered
    if (pending) return undefined;
    return mayAddFirstFactor(session, guardedGroups(config)) ? 'first-factor' : 'administrator';
  };
}

/** Whether the user was at the connection for this request, or just now for a page that demands a recent sign-in. */
function isVain(session: Session, pending: PendingRequest | undefined, returnTo: ReturnTo | undefined): boolean {
  // the page that asks for the proof of an account says it itself
  if (!pending) return returnTo !== undefined && returnTo.name !== 'connect' && cameBackInVain(session);
  const trip = vainTrip(session);
  return trip !== undefined && trip > pending.createdAt && pending.connections.length === 0;
}
