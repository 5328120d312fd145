// Adds the rules of scopes for claims to their creation, change and deletion: no scope of an API may have the same name.
import { maxScopes, scopes } from '../../entities/scopes.ts';
import { conflict } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { entityAdministration } from './entities.ts';

/** Refuses scopes of an API whose names are scopes for claims. In a transaction. @throws OAuthError conflict */
export async function requireFreeWords({ scopes }: Repositories, words: readonly string[]): Promise<void> {
  if (words.length === 0) return;
  await scopes.lockWords();
  const [taken] = await scopes.namesAmong(words);
  if (taken !== undefined) throw conflict(refusal('scope.of-claims', 'scopes', { scope: taken }));
}

export const scopeAdministration = (store: Store) =>
  entityAdministration(store, scopes, {
    repository: (repositories) => repositories.scopes,
    taken: refusal('scope.exists', 'name'),
    full: refusal('scope.most', 'name', { most: String(maxScopes) }),
    facts: ({ name, claims }, _act, members) => ({
      detail: { scope: name, ...(members.includes('claims') && { claims }) },
    }),
    async check(repositories, { name }, _members, isNew) {
      if (!isNew) return;
      await repositories.scopes.lockWords();
      if (await repositories.scopes.isTaken(name)) throw conflict(refusal('scope.taken', 'name'));
    },
    async removing(repositories, { name }) {
      await repositories.scopes.lockWords();
      // an API could get a scope of this name, which no administrator gave these clients
      if (await repositories.scopes.isTaken(name)) throw conflict(refusal('scope.in-use', 'scope'));
    },
  });
