// Gives example data of the console's page about the claims of a client.
import { ruleForm } from '../../src/admin/console/clients/claim-rule-form.ts';
import { fieldsOf, type Typed } from '../../src/admin/console/form.ts';
import type { ConsoleClaimsPages } from '../../src/pages/views/console-claims.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
import { form } from './parts.ts';

const frame = { ...consoleFrame, section: 'clients' as const };
const client = { name: 'Harbour', clientUri: '/admin/clients/harbour', form: form('/admin/clients/harbour/claims') };
/** @param typed the values of fields */
const fields = (typed: Typed) => fieldsOf(ruleForm, typed);
const none = {
  roles: [],
  scopes: [],
  rules: [],
  sources: ['groups', 'roles', 'constant'],
  groups: [],
  ruleFields: fields({ into: 'id_token\nuserinfo' }),
  typed: {},
};

export const consoleClaimsExamples: Examples<ConsoleClaimsPages> = {
  'console-client-claims': [
    { ...frame, ...client, ...none, own: true },
    {
      ...frame,
      ...client,
      own: false,
      sources: ['groups', 'roles', 'constant', 'department'],
      groups: ['crew', 'staff'],
      roles: [
        {
          name: 'admin',
          description: 'Changes everything',
          groups: ['crew'],
          users: 3,
          holders: [{ sub: 'x', username: 'ada', uri: '/admin/users/x' }],
        },
        { name: 'reader', description: '', groups: [], users: 0, holders: [] },
      ],
      scopes: [
        {
          name: 'staff',
          text: { en: 'See your department', de: 'Ihre Abteilung sehen' },
          claims: ['department'],
          given: true,
        },
        { name: 'shift', text: {}, claims: ['shift'], given: false },
      ],
      rules: [
        {
          claim: 'https://harbour.example/roles',
          from: 'roles',
          into: ['id_token', 'userinfo', 'introspection'],
          how: '{"case":"upper"}',
          key: '{}',
        },
        { claim: 'dept', from: 'department', into: ['userinfo'], how: '', key: '{}' },
      ],
      ruleFields: fields({ claim: 'sub', from: 'department', case: 'lower', into: 'userinfo' }),
      typed: { act: 'rule-add' },
      refused: { field: 'claim', member: 'claim_rules.2.claim', code: 'claim-name', whole: false },
      preview: {
        typed: 'ada',
        username: 'ada',
        groupsOmitted: true,
        idToken: '{\n  "sub": "248289761001"\n}',
        userinfo: '{\n  "name": "Ada",\n  "sub": "248289761001"\n}',
        introspection: '{\n  "active": true\n}',
      },
    },
  ],
};
