// Creates, changes and deletes scopes for claims and the roles of clients, a part of administration.ts.
import { isDeepStrictEqual } from 'node:util';
import { maxRoles, maxScopes } from '../../rules/claims/claim-shapes.ts';
import { conflict, invalidRequest, notFound } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { ClaimScope } from '../../repositories/claims/scopes.ts';
import type { Repositories, Store } from '../../repositories/store.ts';

/** Who gets or loses a role: groups by name, users by sub, user name or email. */
export interface RoleHolders {
  groups?: string[] | undefined;
  users?: string[] | undefined;
}

/** Refuses the words of an API that are scopes for claims. In a transaction. @throws OAuthError conflict */
export async function requireFreeWords({ scopes }: Repositories, words: readonly string[]): Promise<void> {
  if (words.length === 0) return;
  await scopes.lockWords();
  const [taken] = await scopes.namesAmong(words);
  if (taken !== undefined) throw conflict(refusal('scope.of-claims', 'scopes', { scope: taken }));
}

export function claimOperations(store: Store) {
  const locked = async ({ scopes }: Repositories, name: string): Promise<ClaimScope> => {
    await scopes.lockWords();
    const found = (await scopes.list()).find((one) => one.name === name);
    if (!found) throw notFound('there is no such scope');
    return found;
  };
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
    /** @throws OAuthError conflict if the word has another meaning, or a client is registered for it already */
    createScope: (by: Actor, given: Pick<ClaimScope, 'name' | 'claims'> & Partial<ClaimScope>): Promise<ClaimScope> =>
      store.transaction(async ({ scopes, auditEvents }) => {
        await scopes.lockWords();
        const { name, claims, text = {} } = given;
        if ((await scopes.list()).length >= maxScopes)
          throw conflict(refusal('scope.most', 'name', { most: String(maxScopes) }));
        if (await scopes.isTaken(name)) throw conflict(refusal('scope.taken', 'name'));
        const made = await scopes.insert({ name, claims, text });
        if (!made) throw conflict(refusal('scope.exists', 'name'));
        await auditEvents.insert({ ...by, type: 'scope.created', outcome: 'success', detail: { scope: name, claims } });
        return made;
      }),
    /** @throws OAuthError not_found */
    changeScope: (by: Actor, name: string, change: Partial<Omit<ClaimScope, 'name'>>): Promise<ClaimScope> =>
      store.transaction(async (repositories) => {
        const before = await locked(repositories, name);
        const after = (await repositories.scopes.update(name, change))!;
        const members = (['text', 'claims'] as const).filter((one) => !isDeepStrictEqual(before[one], after[one]));
        const detail = { scope: name, members, ...(members.includes('claims') && { claims: after.claims }) };
        if (members.length > 0)
          await repositories.auditEvents.insert({ ...by, type: 'scope.changed', outcome: 'success', detail });
        return after;
      }),
    /** @throws OAuthError not_found, or conflict while a client is registered for the scope */
    deleteScope: (by: Actor, name: string): Promise<ClaimScope> =>
      store.transaction(async (repositories) => {
        const { scopes, auditEvents } = repositories;
        const found = await locked(repositories, name);
        // the word could become a scope of an API, which no administrator gave these clients
        if (await scopes.isTaken(name)) throw conflict(refusal('scope.in-use', 'scope'));
        await scopes.delete(name);
        await auditEvents.insert({ ...by, type: 'scope.deleted', outcome: 'success', detail: { scope: name } });
        return found;
      }),
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
    /** Deletes a role and takes it from everyone. @throws OAuthError not_found */
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
