// Gives example data of the console's page about the claims of a client.
import type { ConsoleClaimsPages } from '../../src/pages/views/console-claims.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
import { claimRules, claimRulesOf } from './console-rules.ts';
import { form } from './parts.ts';

const frame = { ...consoleFrame, section: 'clients' as const };
const client = { name: 'Harbour', clientUri: '/admin/clients/harbour', form: form('/admin/clients/harbour/claims') };
const none = {
  roles: [],
  scopes: [],
  typed: {},
};

export const consoleClaimsExamples: Examples<ConsoleClaimsPages> = {
  'console-client-claims': [
    { ...frame, ...client, ...none, rules: [claimRulesOf([])], own: true },
    {
      ...frame,
      ...client,
      own: false,
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
      rules: [claimRulesOf(claimRules)],
      typed: { act: 'role-add', name: 'a,b' },
      refused: { field: 'role-name', member: 'name', code: 'role-name', whole: false },
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
