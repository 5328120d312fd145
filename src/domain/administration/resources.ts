// Holds what is special to resources when they are created, changed and deleted.
import { resources } from '../../entities/resources.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Store } from '../../repositories/store.ts';
import { entityAdministration } from './entities.ts';
import { requireFreeWords } from './scopes.ts';

export const resourceAdministration = (store: Store) =>
  entityAdministration(store, resources, {
    repository: (repositories) => repositories.resources,
    taken: refusal('resource.taken', 'resource'),
    facts: ({ resource, name, clientId }, what) => ({
      clientId,
      detail: { resource, ...(what === 'created' && { name }) },
    }),
    async check(repositories, { scopes }, members) {
      if (members.includes('scopes')) await requireFreeWords(repositories, Object.keys(scopes));
    },
  });
