// Verifies a password at the connected directories, where the accounts of this service did not accept it (federation 6).
import type { DeviceCookies } from '../../browser/device-cookie.ts';
import type { VerifiedIdentity } from '../../domain/connections/kind.ts';
import type { DirectorySignIn } from '../../domain/connections/ldap/sign-in.ts';
import type { Store } from '../../repositories/store.ts';
import { clientAddress } from '../../server/network.ts';
import type { FirstFactorContinues, FirstFactorRefused, FirstStepContext } from '../authenticator.ts';
import type { ConnectionRouting } from '../connection/routing.ts';
import type { ConnectionSteps } from '../connection/steps.ts';
import type { CountedFailure } from '../password/check.ts';

/** Where the sign-in goes on once a directory has verified the password. */
export const directoryPath = '/login/directory';

/** Undefined if no directory is connected, or none accepts the password. */
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
    // a name of an enforced domain signs in by its connection, whatever was typed (federation 4)
    if (open.length === 0 || (await routing.enforcedOf(username))) return undefined;
    const browser = deviceCookies.hash(request);
    const answer = await directorySignIn(open, { name: username.trim(), password, browser });
    switch (answer.outcome) {
      case 'wrong':
        return undefined;
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
        // the wrong password of an account here still counts: else the failure of a directory would give any number of tries (security R62)
        if (!failure.hasPassword) await failure.takeBack();
        await store.auditEvents.insert({
          ...{ type: 'identity.refused', outcome: 'failure', actor: `connection:${id}` },
          ...{ address: clientAddress(request), detail: { connection: id, reason: 'unreachable' } },
        });
        return { outcome: 'refused', problem: 'directory', status: 503 };
      }
    }
  };

  /**
   * Whether the account with the typed name is that of the directory's user, or there is none. The user of a directory can have the name of
   * another account here: else each sign-in by the directory would give its user further tries at the password of that account (security R62).
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
