// Finds what connections own of a signed-in user, for the pages that change it.
import { ownedMembers } from '../rules/connections/owned-members.ts';
import type { Store } from '../repositories/store.ts';
import type { User } from '../repositories/users/users.ts';

/** The names of the connections by the claim that each owns; `email` is the address. */
export async function ownedOf(
  store: Pick<Store, 'linkedIdentities' | 'connections'>,
  { sub, email }: Pick<User, 'sub' | 'email'>,
): Promise<Readonly<Record<string, string>>> {
  const [links, all] = await Promise.all([store.linkedIdentities.ofUser(sub), store.connections.list()]);
  const linked = links.map(({ connectionId }) => connectionId);
  return ownedMembers(
    all.filter(({ id }) => linked.includes(id)),
    email,
    all,
  );
}
