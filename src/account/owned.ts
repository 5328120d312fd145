// Finds what connections own of a signed-in user, for the pages that change it. A user without a link costs one look.
import { ownedMembers } from '../oauth/owned-members.ts';
import type { Store } from '../repositories/store.ts';
import type { User } from '../repositories/users/users.ts';

/** The names of the connections by the claim that each owns; `email` is the address. */
export async function ownedOf(
  store: Pick<Store, 'linkedIdentities' | 'connections'>,
  { sub, email }: Pick<User, 'sub' | 'email'>,
): Promise<Readonly<Record<string, string>>> {
  const links = await store.linkedIdentities.ofUser(sub);
  const found = await Promise.all(links.map(({ connectionId }) => store.connections.find(connectionId)));
  return ownedMembers(
    found.filter((connection) => connection !== undefined),
    email,
  );
}
