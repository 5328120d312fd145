// Creates and deletes the roles of clients, and gives them to groups and users, a part of administration.ts.
import { maxRoles } from '../../rules/claims/claim-shapes.ts';
import { conflict, invalidRequest, notFound } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { Repositories, Store } from '../../repositories/store.ts';

/** The holders to which a role is given, or from which it is taken: groups by name, users by sub, user name or email. */
export interface RoleHolders {
  groups?: string[] | undefined;
  users?: string[] | undefined;
}

export function claimChanges(store: Store) {
  const requireClient = async ({ clients }: Repositories, clientId: string) => {
    if (!(await clients.lock(clientId))) throw notFound('there is no such client');
  };
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
        if (!(await clientRoles.list(clientId)).some(({ name }) => name === role))
          throw notFound(refusal('role.unknown', 'role'));
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
    /** @throws OAuthError not_found, conflict */
    createRole: (
      by: Actor,
      clientId: string,
      { name, description = '' }: { name: string; description?: string | undefined },
    ) =>
      store.transaction(async (repositories) => {
        await requireClient(repositories, clientId);
        if (!(await repositories.clientRoles.insert(clientId, name, description, maxRoles)))
          throw conflict(refusal('role.exists', 'name', { most: String(maxRoles) }));
        const event = { type: 'role.created', outcome: 'success', clientId, detail: { role: name } } as const;
        await repositories.auditEvents.insert({ ...by, ...event });
        return { name, description, groups: [], users: 0 };
      }),
    /** Deletes a role and takes it from all holders. @throws OAuthError not_found */
    deleteRole: (by: Actor, clientId: string, role: string): Promise<void> =>
      store.transaction(async ({ clientRoles, auditEvents }) => {
        if (role.includes('\0') || !(await clientRoles.delete(clientId, role)))
          throw notFound(refusal('role.unknown', 'role'));
        await auditEvents.insert({ ...by, type: 'role.deleted', outcome: 'success', clientId, detail: { role } });
      }),
    /** @throws OAuthError not_found, or invalid_request for a group or user that does not exist */
    giveRole: changeHolders('role.given'),
    takeRole: changeHolders('role.taken'),
  };
}
