// Lists states of the page of claims and of the fields for values of attributes, beside the examples.
import type { AttributeField } from '../../../src/pages/views/attribute-field.ts';
import { examples } from '../../../templates/examples/index.ts';
import { ownRefusals, type View } from './state.ts';

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

const claims = examples['console-client-claims'];
export const consoleDefinitionsStates: View[] = [
  { name: 'console-client-claims', data: { ...claims[1], done: 'claims-saved' } },
  ...ownRefusals('console.claims').map((refused): View => {
    const field = { user: 'give-user-0', group: 'give-group-0', name: 'role-name' }[refused.field!]!;
    return { name: 'console-client-claims', data: { ...claims[1], refused: { ...refused, field } } };
  }),
  { name: 'console-client-claims', data: { ...claims[0], preview: { ...claims[1].preview!, saml: '{}' } } },
  { name: 'console-client-claims', data: { ...claims[0], preview: { typed: 'nobody', fault: 'unknown' } } },
  { name: 'console-client-claims', data: { ...claims[0], preview: { typed: 'two', fault: 'several' } } },
  { name: 'account-start', data: { ...examples['account-start'][1], tiles: [] } },
  {
    name: 'consent',
    data: {
      ...examples.consent[1],
      scopes: [
        { scope: 'staff', claims: [], text: { en: 'See your department' } },
        { scope: 'roles', claims: [] },
      ],
    },
  },
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
