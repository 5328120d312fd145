// Lists states of the console's pages about definitions and of the fields for values of attributes, beside the examples.
import type { AttributeField } from '../../../src/pages/views/console-definitions.ts';
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const list = examples['console-definitions'];
const form = examples['console-definition-form'];
const text = { type: 'string', value: 'x' } as const;
const faults = ['unknown', 'type', 'date', 'text', 'long', 'many', 'large', 'choice', 'taken'] as const;
const attributes: AttributeField[] = [
  ...faults.map((fault): AttributeField => ({ ...text, name: fault, label: {}, fault })),
  { name: 'tags', label: { en: 'Tags' }, type: 'string_list', value: 'a\nb' },
  { name: 'active', label: {}, type: 'boolean', value: 'true' },
  { name: 'department', label: {}, type: 'string', value: 'Old', choices: ['Harbour'] },
  { name: 'since', label: {}, type: 'date', value: '' },
  { name: 'floor', label: {}, type: 'number', value: '3' },
];

export const consoleDefinitionsStates: View[] = [
  { name: 'console-definitions', data: { ...list[0], done: 'definition-saved' } },
  { name: 'console-definitions', data: { ...list[1], done: 'definition-deleted' } },
  {
    name: 'console-definitions',
    data: { ...list[1], rows: [{ ...list[1].rows[0]!, facts: ['number', 'boolean', 'date', 'write', 'none'] }] },
  },
  ...['conflict', 'name', 'choices', 'max', 'unique', 'fit'].map((problem): View => ({
    name: 'console-definition-form',
    data: { ...form[0], problem },
  })),
  { name: 'console-user-edit', data: { ...examples['console-user-edit'][1], attributes } },
  { name: 'account-profile-edit', data: { ...examples['account-profile-edit'][1], attributes } },
  {
    name: 'account-profile',
    data: {
      ...examples['account-profile'][1],
      profile: [{ claim: 'department', value: 'Harbour', seenBy: [], label: { en: 'Department' } }],
    },
  },
  {
    name: 'console-user',
    data: {
      ...examples['console-user'][1],
      claims: [{ claim: 'department', value: 'Harbour', label: { de: 'Abteilung' } }],
    },
  },
];
