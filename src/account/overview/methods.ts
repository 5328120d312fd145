// Lists how the user signs in, each method with the page on which it is set up.
import { ownPasskeys, secondFactors } from '../../pages/return-to.ts';
import type { SignInMethod } from '../../pages/views/account.ts';
import type { Repositories } from '../../repositories/store.ts';
import type { User } from '../../repositories/users/users.ts';

type Readable = Pick<Repositories, 'secondFactors' | 'recoveryCodes'>;

export async function signInMethods(store: Readable, { sub, passwordHash }: User): Promise<SignInMethod[]> {
  const [factors, recoveryCodes] = await Promise.all([store.secondFactors.list(sub), store.recoveryCodes.count(sub)]);
  return [
    { method: 'password', uri: '/account/password', set: passwordHash !== undefined },
    { method: 'passkeys', uri: ownPasskeys.path, set: factors.some(({ kind }) => kind === 'passkey') },
    { method: 'second-factors', uri: secondFactors.path, set: factors.length > 0 },
    {
      method: 'recovery-codes',
      uri: secondFactors.path,
      set: factors.length > 0,
      ...(factors.length > 0 && { left: recoveryCodes }),
    },
  ];
}

/** Whether a password alone signs the user in. */
export const isUnprotected = (methods: readonly SignInMethod[]): boolean =>
  methods.every(({ method, set }) => set === (method === 'password'));
