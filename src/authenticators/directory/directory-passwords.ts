// Verifies a password at the connected directories, if no account of this service accepted it (federation 6).
import type { DeviceCookies } from '../../browser/device-cookie.ts';
import type { VerifiedIdentity } from '../../domain/connections/kind.ts';
import type { DirectorySignIn } from '../../domain/connections/ldap/sign-in.ts';
import type { Store } from '../../repositories/store.ts';
import { clientAddress } from '../../server/network.ts';
import type { FirstFactorContinues, FirstFactorRefused, FirstStepContext } from '../authenticator.ts';
import type { ConnectionRouting } from '../connection/routing.ts';
import type { ConnectionSteps } from '../connection/steps.ts';
import type { CountedFailure } from '../password/check.ts';

/** The page with which the sign-in continues after a directory has verified the password. */
export const directoryPath = '/login/directory';

/** Returns undefined if no directory is connected, or none has the user. */
export type CheckDirectories = (
  context: FirstStepContext,
  typed: { username: string; password: string },
  failure: CountedFailure,
) => Promise<FirstFactorContinues | FirstFactorRefused | undefined>;

export function createDirectoryPasswords(options: {
  store: Pick<Store, 'auditEvents' | 'connections' | 'linkedIdentities'>;
  directorySignIn: DirectorySignIn;
  deviceCookies: DeviceCookies;
  connectionSteps: ConnectionSteps;
  routing: Pick<ConnectionRouting, 'enforcedOf'>;
}): CheckDirectories {
  const { store, directorySignIn, deviceCookies, connectionSteps: steps, routing } = options;
  return async ({ request, reply, continuation }, { username, password }, failure) => {
    const open = (await store.connections.list()).filter(({ kind, status }) => kind === 'ldap' && status === 'enabled');
    // a user with a name of an enforced domain signs in by its connection, whatever the password is (federation 4)
    if (open.length === 0 || (await routing.enforcedOf(username))) return undefined;
    const browser = deviceCookies.hash(request);
    const answer = await directorySignIn(open, { name: username.trim(), password, browser });
    switch (answer.outcome) {
      case 'wrong': {
        const { sub, hasPassword } = failure;
        if (answer.connection === undefined || hasPassword) return undefined;
        // the page is that of every wrong password (security R60)
        const detail = { connection: answer.connection.id, reason: 'wrong_directory_password' };
        return { outcome: 'refused', problem: 'credentials', fields: ['password'], event: { sub, detail } };
      }
      case 'right': {
        const { connection, identity } = answer;
        await ((await isOwn(failure, connection.id, identity)) ? failure.forget() : failure.takeBack());
        await steps.wait(request, reply, 'verified', connection.id, { ...continuation, identity });
        return { outcome: 'continues', path: directoryPath };
      }
      case 'refused':
        await failure.takeBack();
        return {
          outcome: 'refused',
          problem: `directory-${answer.reason}`,
          event: { sub: undefined, detail: { connection: answer.connection.id, reason: answer.reason } },
        };
      case 'unreachable': {
        const { id } = answer.connection;
        // a wrong password of an account here still counts: otherwise a failing directory would allow unlimited attempts (security R62)
        if (!failure.hasPassword) await failure.takeBack();
        await store.auditEvents.insert({
          type: 'identity.refused',
          outcome: 'failure',
          actor: `connection:${id}`,
          address: clientAddress(request),
          detail: { connection: id, reason: 'unreachable' },
        });
        // the page gets the reference of this one
        const event = { sub: failure.sub, detail: { connection: id, reason: 'unreachable' } };
        return { outcome: 'refused', problem: 'directory', status: 503, event };
      }
    }
  };

  /**
   * Whether the typed name is that of no account here, or of the account that is linked to the directory's user. A directory's user can have the
   * name of another user's account: without this check, each sign-in by the directory would allow further attempts at that account's password
   * (security R62).
   */
  async function isOwn(
    { sub }: CountedFailure,
    connectionId: string,
    { issuer, subject }: VerifiedIdentity,
  ): Promise<boolean> {
    if (sub === undefined) return true;
    return (await store.linkedIdentities.find({ connectionId, issuer, subject }))?.sub === sub;
  }
}
