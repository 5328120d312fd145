// Declares the operations on scopes for claims: the operations that every entity has.
import { scopes } from '../../entities/scopes.ts';
import { entityOperations } from './entities.ts';

export const scopeActs = entityOperations(scopes, {
  says: {
    list: 'Lists all scopes for claims by name; there are at most 100',
    create: 'Defines a scope that releases claims; administrators give it to clients in their scope',
    change: 'Changes what a scope releases, or what users read',
    delete: 'Deletes a scope for which no client is registered',
  },
  named: 'The name of the scope.',
  most: 100,
  answers: { one: 'Scope', page: 'Scopes' },
  columns: { NAME: ({ name }) => name, CLAIMS: ({ claims }) => claims.join(' ') },
  done: {
    create: ({ name }) => `Defined the scope ${name}. Give it to clients in their scope.`,
    change: ({ name }) => `Changed the scope ${name}.`,
    delete: ({ name }) => `Deleted the scope ${name}.`,
  },
  repository: ({ store }) => store.scopes,
  administration: ({ administration }) => administration.scopes,
});
