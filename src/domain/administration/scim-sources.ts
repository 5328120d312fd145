// Holds what is special to SCIM sources when they are created, changed and deleted, and makes and ends their tokens.
import { scimSources } from '../../entities/scim-sources.ts';
import { conflict, invalidRequest, notFound } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { ScimToken } from '../../repositories/scim/scim-sources.ts';
import type { Store } from '../../repositories/store.ts';
import { newOpaqueToken } from '../../tokens/opaque-token.ts';
import { entityAdministration } from './entities.ts';

/** Two, so that one can be renewed while the other serves (federation 8). */
export const mostScimTokens = 2;

/** The source of the memberships that a SCIM source makes. */
export const membershipSource = (id: string): string => `scim:${id}`;

export function scimSourceAdministration(store: Store) {
  const kernel = entityAdministration(store, scimSources, {
    repository: (repositories) => repositories.scimSources,
    taken: refusal('scim-source.taken', 'id'),
    facts: ({ id }) => ({ detail: { scim_source: id } }),
    async check({ connections }, { adopt, connectionId }) {
      if (adopt !== 'domain') return;
      const connection = connectionId === undefined ? undefined : await connections.find(connectionId);
      if (!connection || connection.authoritativeDomains.length === 0)
        throw invalidRequest(refusal('scim-adopt', 'adopt'));
    },
    removing: ({ scimSources: sources }, { id }) => sources.endTrust(id),
  });

  return {
    ...kernel,
    /** Deletes a source with its tokens and memberships. Its users and groups stay, and belong to no source. @throws OAuthError not_found */
    async remove(by: Actor, id: string) {
      const found = id.includes('\0') ? undefined : await store.scimSources.find(id);
      // from here on no request makes memberships: those that run hold no row of the source, so the last step looks once more
      if (found?.status === 'enabled') await kernel.change(by, id, { status: 'disabled' });
      await endMemberships(id);
      const removed = await kernel.remove(by, id);
      await endMemberships(id);
      return removed;
    },
    /** @returns the token, which is shown once @throws OAuthError not_found, or conflict if there are two */
    createToken: (by: Actor, id: string): Promise<ScimToken & { token: string }> =>
      store.transaction(async ({ scimSources: sources, auditEvents }) => {
        if (!(await sources.lock(id))) throw notFound('there is no such scim_source');
        if ((await sources.tokens(id)).length >= mostScimTokens)
          throw conflict(refusal('scim-source.tokens', 'tokens'));
        const { token, hash } = newOpaqueToken('scim_token');
        const made = await sources.insertToken(id, hash);
        const detail = { scim_source: id, token: made.id };
        await auditEvents.insert({ ...by, type: 'scim_token.created', outcome: 'success', detail });
        return { ...made, token };
      }),
    /** @throws OAuthError not_found */
    removeToken: (by: Actor, id: string, token: string): Promise<void> =>
      store.transaction(async ({ scimSources: sources, auditEvents }) => {
        if (!(await sources.removeToken(id, token))) throw notFound('there is no such token');
        const detail = { scim_source: id, token };
        await auditEvents.insert({ ...by, type: 'scim_token.deleted', outcome: 'success', detail });
      }),
  };

  /** In steps: a source may have made very many memberships. */
  async function endMemberships(id: string): Promise<void> {
    const source = membershipSource(id);
    for (let left = true; left;) {
      const subs = await store.memberships.usersOf(source, 500);
      for (const sub of subs) await store.transaction(({ memberships }) => memberships.set(sub, source, [], []));
      left = subs.length > 0;
    }
  }
}
