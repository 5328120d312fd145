// Adds the rules of the roles of clients to their creation, change and deletion, and gives roles to groups and users.
import { maxRoles, roles } from '../../entities/roles.ts';
import { invalidRequest, notFound } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { entityAdministration } from './entities.ts';

/** The holders to which a role is given, or from which it is taken: groups by name, users by sub, user name or email. */
export interface RoleHolders {
  groups?: string[] | undefined;
  users?: string[] | undefined;
}

async function requireClient({ clients }: Repositories, clientId: string): Promise<void> {
  if (!(await clients.lock(clientId))) throw notFound('there is no such client');
}

export const roleAdministration = (store: Store) =>
  entityAdministration(store, roles, {
    repository: ({ clientRoles }) => clientRoles,
    taken: refusal('role.exists', 'name', { most: String(maxRoles) }),
    unknown: refusal('role.unknown', 'role'),
    facts: ({ clientId, name }) => ({ clientId, detail: { role: name } }),
    async check(repositories, { clientId }, _members, isNew) {
      if (isNew) await requireClient(repositories, clientId);
    },
  });

export function claimChanges(store: Store) {
  async function subsOf({ userBatches }: Repositories, given: readonly string[]): Promise<string[]> {
    return (await userBatches.named(given)).map((sub) => {
      if (sub === undefined) throw invalidRequest(refusal('unknown', 'users'));
      return sub;
    });
  }
  const changeHolders =
    (type: 'role.given' | 'role.taken') =>
    (by: Actor, clientId: string, role: string, { groups = [], users = [] }: RoleHolders): Promise<number> =>
      store.transaction(async (repositories) => {
        const { clientRoles, auditEvents } = repositories;
        await requireClient(repositories, clientId);
        if (!(await clientRoles.find(role, clientId))) throw notFound(refusal('role.unknown', 'role'));
        for (const name of groups)
          if (type === 'role.given' && !(await repositories.groups.find(name)))
            throw invalidRequest(refusal('unknown', 'groups'));
        const subs = await subsOf(repositories, users);
        const count = await clientRoles[type === 'role.given' ? 'give' : 'take'](clientId, role, groups, subs);
        const detail = { role, ...(groups.length > 0 && { groups }), ...(subs.length > 0 && { subs }) };
        if (count > 0) await auditEvents.insert({ ...by, type, outcome: 'success', clientId, detail });
        return count;
      });

  return {
    /** @throws OAuthError not_found, or invalid_request for a group or user that does not exist */
    giveRole: changeHolders('role.given'),
    takeRole: changeHolders('role.taken'),
  };
}
