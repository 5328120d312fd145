// Gives example data of the console's pages about definitions.
import type { ConsoleDefinitionsPages, DefinitionField } from '../../src/pages/views/console-definitions.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
import { form } from './parts.ts';

const frame = { ...consoleFrame, section: 'attributes' as const, kind: 'attributes' as const };
const listUri = '/admin/attributes';
const uri = `${listUri}/department`;
const fields = (fixed: boolean): DefinitionField[] => [
  { name: 'name', kind: 'text', value: fixed ? 'department' : '', required: true, fixed },
  {
    ...{ name: 'type', kind: 'choice', value: 'string', fixed },
    choices: ['string', 'number', 'boolean', 'date', 'string_list'],
  },
  { name: 'label', kind: 'lines', value: fixed ? 'Department\n[de] Abteilung\n[ar] القسم' : '' },
  { name: 'choices', kind: 'lines', value: fixed ? 'Harbour\nLighthouse' : '' },
  { name: 'max', kind: 'text', value: '' },
  { name: 'person', kind: 'choice', value: 'read', choices: ['none', 'read', 'write'] },
  { name: 'unique', kind: 'check', value: fixed ? 'true' : 'false' },
];

export const consoleDefinitionsExamples: Examples<ConsoleDefinitionsPages> = {
  'console-definitions': [
    { ...frame, rows: [], newUri: `${listUri}/new` },
    {
      ...frame,
      rows: [
        {
          ...{ name: 'department', label: { en: 'Department', de: 'Abteilung', ar: 'القسم' }, uri },
          facts: ['string', 'read', 'unique'],
        },
        { name: 'x', label: {}, facts: ['string_list'], uri: `${listUri}/x` },
      ],
      newUri: `${listUri}/new`,
    },
  ],
  'console-definition-form': [
    { ...frame, listUri, fields: fields(false), form: form('/admin') },
    {
      ...frame,
      ...{ listUri, name: 'department', fields: fields(true), form: form('/admin'), deleteUri: `${uri}/delete` },
      refused: { field: 'label', member: 'label.de', code: 'length', params: { most: '100' }, whole: false },
    },
  ],
  'console-definition-delete': [
    { ...frame, listUri, name: 'department', uri, form: form('/admin') },
    { ...frame, listUri, name: 'department', uri, form: form('/admin'), typed: 'departmint', problem: 'typed' },
  ],
};
