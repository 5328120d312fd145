// Declares the operations on attributes: the operations that every entity has.
import { attributes } from '../../entities/attributes.ts';
import { view } from '../../entities/entity.ts';
import { entityOperations } from './entities.ts';
import { facts } from './text-table.ts';

export const attributeActs = entityOperations(attributes, {
  says: {
    list: 'Lists all attributes by name; there are at most 100',
    create: 'Creates an attribute, which users can then have',
    change: 'Changes an attribute; its name, its type and the stored values stay',
    delete: 'Deletes an attribute with the values of all users',
  },
  named: 'The name of the attribute.',
  most: 50,
  answers: { one: 'Attribute', page: 'Attributes' },
  columns: {
    NAME: ({ name }) => name,
    TYPE: ({ type }) => type,
    PERSON: ({ person }) => person,
    UNIQUE: ({ unique }) => (unique ? 'yes' : ''),
    CHOICES: ({ choices }) => choices?.join(', ') ?? '',
  },
  done: {
    create: ({ name }) => `Defined the attribute ${name}.`,
    change: (attribute) => facts(view(attributes, attribute)),
    delete: ({ name }) => `Deleted the attribute ${name} with the values of all users.`,
  },
  repository: ({ store }) => store.attributes,
  administration: ({ administration }) => administration.attributes,
});
