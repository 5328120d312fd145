// Serves the console's pages about scopes for claims.
import type { FastifyInstance } from 'fastify';
import { notFound } from '../../../oauth/errors.ts';
import type { Store } from '../../../repositories/store.ts';
import type { ClaimScope } from '../../../repositories/claims/scopes.ts';
import { changeScope, createScope, deleteScope } from '../../operations/claims.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { perform } from '../../perform.ts';
import type { Console } from '../admin-session.ts';
import { definitionPages, labelLines, labelsIn, linesIn } from '../definition-pages.ts';

interface ConsoleScopesDependencies {
  store: Store;
  console: Console;
  operationContext: OperationContext;
}

export async function consoleScopesEndpoint(
  app: FastifyInstance,
  { store, console, operationContext }: ConsoleScopesDependencies,
): Promise<void> {
  const inputOf = (typed: Readonly<Record<string, string>>) => ({
    text: labelsIn(typed['text'] ?? ''),
    claims: linesIn(typed['claims'] ?? ''),
  });
  definitionPages<ClaimScope>(app, console, {
    kind: 'scopes',
    section: 'attributes',
    path: '/admin/scopes',
    list: () => store.scopes.list(),
    row: ({ name, text, claims }) => ({ name, label: text, facts: claims }),
    fields(one, typed) {
      const value = (name: string, stored: string) => (typed ? (typed[name] ?? '') : stored);
      const fixed = one !== undefined;
      return [
        { name: 'name', words: 'scope', kind: 'text', value: one?.name ?? value('name', ''), required: true, fixed },
        { name: 'text', kind: 'lines', value: value('text', labelLines(one?.text ?? {})) },
        { name: 'claims', kind: 'lines', value: value('claims', one?.claims.join('\n') ?? '') },
      ];
    },
    async find(name) {
      const found = (await store.scopes.list()).find((one) => one.name === name);
      if (!found) throw notFound('there is no such scope');
      return found;
    },
    create: (actor, typed) =>
      perform(createScope, operationContext, {
        params: {},
        input: { name: (typed['name'] ?? '').trim(), ...inputOf(typed) },
        actor,
      }),
    change: (actor, { name }, typed) =>
      perform(changeScope, operationContext, { params: { scope: name }, input: inputOf(typed), actor }),
    remove: (actor, { name }) => perform(deleteScope, operationContext, { params: { scope: name }, input: {}, actor }),
  });
}
