// Lets the administrator's decision that a user stays disabled go before what a SCIM source or the import of a directory says later (federation 8).
import type { Repositories } from '../../repositories/store.ts';
import type { User, UserChange } from '../../repositories/users/users.ts';

/**
 * In a transaction that holds the user's row. A user whom a source disabled is disabled by the administrator from now on.
 * @param before the user before the change
 * @returns the user for the comparison: enabled if only a source had disabled the user, for then the decision is an event
 */
export async function decided({ users }: Repositories, before: User, { status }: UserChange): Promise<User> {
  if (status !== 'disabled' || before.status === 'enabled') return before;
  return (await users.decideStatus(before.sub)) ? { ...before, status: 'enabled' } : before;
}
