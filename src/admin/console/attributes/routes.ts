// Serves the console's pages about attributes: what an operator stores about users beside the standard claims.
import type { FastifyInstance } from 'fastify';
import { type Attribute, attributeTypes, personRights } from '../../../rules/claims/attributes.ts';
import { notFound } from '../../../oauth/errors.ts';
import type { DefinitionField } from '../../../pages/views/console-definitions.ts';
import type { Store } from '../../../repositories/store.ts';
import { changeAttribute, createAttribute, deleteAttribute } from '../../operations/attributes.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { perform } from '../../perform.ts';
import type { Console } from '../admin-session.ts';
import { definitionPages, labelLines, labelsIn, linesIn } from '../definition-pages.ts';

interface ConsoleAttributesDependencies {
  store: Store;
  console: Console;
  operationContext: OperationContext;
}

export async function consoleAttributesEndpoint(
  app: FastifyInstance,
  { store, console, operationContext }: ConsoleAttributesDependencies,
): Promise<void> {
  definitionPages<Attribute>(app, console, {
    kind: 'attributes',
    section: 'attributes',
    path: '/admin/attributes',
    list: () => store.attributes.list(),
    row: ({ name, label, type, person, unique }) => ({
      ...{ name, label },
      facts: [type, ...(person === 'none' ? [] : [person]), ...(unique ? ['unique'] : [])],
    }),
    fields: fieldsOf,
    async find(name) {
      const found = (await store.attributes.list()).find((one) => one.name === name);
      if (!found) throw notFound('there is no such attribute');
      return found;
    },
    create: (actor, typed) =>
      perform(createAttribute, operationContext, {
        params: {},
        input: { name: (typed['name'] ?? '').trim(), type: typed['type'] as Attribute['type'], ...inputOf(typed) },
        actor,
      }),
    change: (actor, { name }, typed) =>
      perform(changeAttribute, operationContext, { params: { attribute: name }, input: inputOf(typed), actor }),
    remove: (actor, { name }) =>
      perform(deleteAttribute, operationContext, { params: { attribute: name }, input: {}, actor }),
  });
}

function fieldsOf(one: Attribute | undefined, typed?: Readonly<Record<string, string>>): DefinitionField[] {
  const value = (name: string, stored: string) => (typed ? (typed[name] ?? '') : stored);
  return [
    { name: 'name', kind: 'text', value: one?.name ?? value('name', ''), required: true, fixed: one !== undefined },
    {
      ...{ name: 'type', kind: 'choice', value: one?.type ?? value('type', 'string'), choices: attributeTypes },
      fixed: one !== undefined,
    },
    { name: 'label', kind: 'lines', value: value('label', labelLines(one?.label ?? {})) },
    { name: 'choices', kind: 'lines', value: value('choices', one?.choices?.join('\n') ?? '') },
    { name: 'max', kind: 'text', value: value('max', String(one?.max ?? '')) },
    { name: 'person', kind: 'choice', value: value('person', one?.person ?? 'none'), choices: personRights },
    { name: 'unique', kind: 'check', value: value('unique', String(one?.unique ?? false)) },
  ];
}

/** The input of the operations; their schemas check it. */
function inputOf(typed: Readonly<Record<string, string>>): Record<string, unknown> {
  const choices = linesIn(typed['choices'] ?? '');
  const max = (typed['max'] ?? '').trim();
  return {
    label: labelsIn(typed['label'] ?? ''),
    choices: choices.length === 0 ? null : choices,
    max: max === '' ? null : /^\d{1,10}$/.test(max) ? Number(max) : max,
    person: typed['person'] ?? 'none',
    unique: typed['unique'] === 'true',
  };
}
