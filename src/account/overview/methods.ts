// Lists how the user signs in, each method with the page on which it is set up.
import { ownConnections, ownPasskeys, secondFactors } from '../../pages/return-to.ts';
import type { SignInMethod } from '../../pages/views/account.ts';
import type { ConnectionDirectory } from '../../repositories/connections/connection-directory.ts';
import type { Repositories } from '../../repositories/store.ts';
import type { User } from '../../repositories/users/users.ts';

type Readable = Pick<Repositories, 'secondFactors' | 'recoveryCodes' | 'linkedIdentities'>;

/** @param connections a service without any shows nothing of them */
export async function signInMethods(
  store: Readable,
  { sub, passwordHash }: User,
  connections: ConnectionDirectory,
): Promise<SignInMethod[]> {
  const [factors, recoveryCodes, open] = await Promise.all([
    store.secondFactors.list(sub),
    store.recoveryCodes.count(sub),
    connections.list(),
  ]);
  const links = open.length > 0 ? await store.linkedIdentities.ofUser(sub) : [];
  const isOffered = links.length > 0 || open.some(({ status }) => status !== 'disabled');
  return [
    // its page asks for the present password
    ...(passwordHash === undefined ? [] : [{ method: 'password' as const, uri: '/account/password', set: true }]),
    { method: 'passkeys', uri: ownPasskeys.path, set: factors.some(({ kind }) => kind === 'passkey') },
    { method: 'second-factors', uri: secondFactors.path, set: factors.length > 0 },
    {
      method: 'recovery-codes',
      uri: secondFactors.path,
      set: factors.length > 0,
      ...(factors.length > 0 && { left: recoveryCodes }),
    },
    ...(isOffered ? [{ method: 'connections' as const, uri: ownConnections.path, set: links.length > 0 }] : []),
  ];
}

/** Whether a password alone signs the user in. */
export const isUnprotected = (methods: readonly SignInMethod[]): boolean =>
  methods.some(({ method }) => method === 'password') &&
  methods.every(({ method, set }) => method === 'connections' || set === (method === 'password'));
