// Declares the operations on attributes: what an operator stores about users beside the standard claims.
import { z } from 'zod';
import { attributeView } from '../../domain/administration/administrator-views.ts';
import { type AttributeMembers, attributeChangeShape, newAttributeShape } from '../../rules/claims/attributes.ts';
import { text } from '../../oauth/text.ts';
import { operation } from './operation.ts';
import { facts, table } from './text-table.ts';

const path = '/admin/api/attributes';
const section = { permission: 'claims', tag: 'attributes' } as const;
const byAttribute = z.object({ attribute: text(50).describe('The name of the attribute.') });
const options = { label: 'label', choice: 'choices', max: 'max', person: 'person', unique: 'unique' };

const listAttributes = operation({
  method: 'GET',
  path,
  ...section,
  summary: 'Lists all attributes by name; there are at most 100',
  answer: 'Attributes',
  handler: ({ store }) => store.attributes.list(),
  view: (attributes) => ({ attributes: attributes.map(attributeView) }),
  command: {
    name: 'attribute list',
    text: (attributes) =>
      table(
        ['NAME', 'TYPE', 'PERSON', 'UNIQUE', 'CHOICES'],
        attributes.map((one) => [
          ...[one.name, one.type, one.person, one.unique ? 'yes' : ''],
          one.choices?.join(', ') ?? '',
        ]),
      ),
    json: (attributes) => attributes.map(attributeView),
  },
});

export const createAttribute = operation({
  method: 'POST',
  path,
  ...section,
  summary: 'Defines an attribute, which users can then have',
  input: () => newAttributeShape,
  status: 201,
  answer: 'Attribute',
  handler: ({ administration }, { input, actor }) => administration.createAttribute(actor, input),
  view: attributeView,
  command: {
    name: 'attribute create',
    arguments: ['name'],
    options: { type: 'type', ...options },
    text: ({ name }) => `Defined the attribute ${name}.`,
  },
});

export const changeAttribute = operation({
  method: 'PATCH',
  path: `${path}/:attribute`,
  ...section,
  summary: 'Changes an attribute; its name, its type and the stored values stay',
  params: byAttribute,
  input: () => attributeChangeShape,
  answer: 'Attribute',
  handler: ({ administration }, { params: { attribute }, input, actor }) =>
    administration.changeAttribute(actor, attribute, input as AttributeMembers),
  view: attributeView,
  async shown({ store }, { attribute }) {
    const found = (await store.attributes.list()).find(({ name }) => name === attribute);
    return found && attributeView(found);
  },
  command: { name: 'attribute change', options, text: (attribute) => facts(attributeView(attribute)) },
});

export const deleteAttribute = operation({
  method: 'DELETE',
  path: `${path}/:attribute`,
  ...section,
  summary: 'Deletes an attribute with the values of all users',
  params: byAttribute,
  handler: ({ administration }, { params: { attribute }, actor }) => administration.deleteAttribute(actor, attribute),
  command: {
    name: 'attribute delete',
    text: ({ name }) => `Deleted the attribute ${name} with the values of all users.`,
    json: ({ name }) => ({ attribute: name }),
  },
});

export const attributeOperations = [listAttributes, createAttribute, changeAttribute, deleteAttribute];
