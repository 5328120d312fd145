// Declares the operations on scopes for claims: the operations that every entity has.
import { scopes } from '../../entities/scopes.ts';
import { entityOperations } from './entities.ts';

export const scopeActs = entityOperations(scopes, {
  says: {
    list: 'Lists all scopes for claims by name; there are at most 100',
    create: 'Creates a scope that releases claims; administrators add it to the scope of clients',
    change: 'Changes the claims or the text of a scope',
    delete: 'Deletes a scope for which no client is registered',
  },
  named: 'The name of the scope.',
  most: 100,
  answers: { one: 'Scope', page: 'Scopes' },
  columns: { NAME: ({ name }) => name, CLAIMS: ({ claims }) => claims.join(' ') },
  done: {
    create: ({ name }) => `Created the scope ${name}. Add it to the scope of clients.`,
    change: ({ name }) => `Changed the scope ${name}.`,
    delete: ({ name }) => `Deleted the scope ${name}.`,
  },
  repository: ({ store }) => store.scopes,
  administration: ({ administration }) => administration.scopes,
});
