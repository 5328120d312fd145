// Gives example data of the console's user pages.
import type { ConsoleUsersPages, ImportResult, UserLine } from '../../src/pages/views/console-users.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
import { form } from './parts.ts';

const since = new Date('2026-03-14T09:26:53Z');
const ada: UserLine = {
  username: 'ada',
  email: 'ada@example.com',
  name: 'Ada Lovelace',
  disabled: false,
  admin: true,
  groups: ['staff', 'engineers'],
  createdAt: since,
  uri: '/admin/users/5f2c',
};
const bare: UserLine = {
  username: 'x',
  disabled: true,
  admin: false,
  groups: [],
  createdAt: since,
  uri: '/admin/users/x',
};
const urisOf = (sub: string) => ({
  editUri: `/admin/users/${sub}/edit`,
  passwordUri: `/admin/users/${sub}/password`,
  removeUri: `/admin/users/${sub}/second-factors/remove`,
  endUri: `/admin/sessions/end?sub=${sub}`,
  auditUri: `/admin/audit?user=${sub}`,
});
const refusedRows: ImportResult = {
  counts: { created: 1200, updated: 12, unchanged: 20, refused: 2001 },
  refusals: [
    { line: 3, column: 'email', reason: 'email' },
    { line: 17, column: 'address.country', reason: 'text' },
    { line: 1204, column: '', reason: 'cells' },
  ],
  notes: [{ line: 18, column: 'username', reason: 'other-address' }],
};
const users = { ...consoleFrame, section: 'users' as const };

export const consoleUsersExamples: Examples<ConsoleUsersPages> = {
  'console-users': [
    {
      ...users,
      filter: { admin: false, order: 'newest' },
      users: [],
      sort: { username: { uri: '/admin/users?order=name' }, created: { now: 'descending', uri: '/admin/users' } },
      broad: false,
      importUri: '/admin/users/import',
      exportUri: '/admin/users/export',
    },
    {
      ...users,
      filter: { q: 'ada', group: 'staff', status: 'enabled', admin: true, order: 'name' },
      users: [ada, bare],
      sort: { username: { now: 'ascending', uri: '/admin/users?order=name' }, created: { uri: '/admin/users' } },
      broad: true,
      importUri: '/admin/users/import',
      exportUri: '/admin/users/export?q=ada',
      first: '/admin/users',
      next: '/admin/users?cursor=x',
    },
  ],
  'console-users-import': [
    {
      ...users,
      form: form('/admin/users/import'),
      typed: '',
      update: false,
      admins: false,
      trustConfirmations: false,
      most: 1_000_000,
    },
    {
      ...users,
      form: form('/admin/users/import'),
      ...{
        typed: 'username,email\nada,ada@example.com\nx,y',
        update: true,
        admins: true,
        trustConfirmations: true,
        most: 1_000_000,
      },
      result: refusedRows,
      problem: 'head',
      head: { kind: 'missing', column: 'username', columns: ['username', 'email'] },
    },
  ],
  'console-users-import-status': [
    {
      ...users,
      ...{ state: 'running', lines: 10_001, line: 1234, startedAt: since, uri: '/admin/users/import/x' },
      result: { counts: { created: 1200, updated: 0, unchanged: 33, refused: 0 }, refusals: [], notes: [] },
    },
    {
      ...users,
      ...{ state: 'stopped', lines: 10_001, line: 1234, startedAt: since, uri: '/admin/users/import/x' },
      result: refusedRows,
    },
  ],
  'console-users-export': [
    { ...users, filter: { admin: false }, form: form('/admin/users/export') },
    {
      ...users,
      filter: { q: 'ada', group: 'staff', status: 'enabled', admin: true },
      form: form('/admin/users/export'),
    },
  ],
  'console-user': [
    {
      ...users,
      user: { ...bare, sub: 'x', emailVerified: false, hasPassword: false, updatedAt: since },
      claims: [],
      groups: [],
      offered: [],
      sessions: { count: 0, uri: '/admin/sessions?user=x' },
      grants: [],
      factors: [],
      recoveryCodes: 0,
      invitation: { byMail: false },
      events: [],
      form: form('/admin'),
      ...urisOf('x'),
    },
    {
      ...users,
      done: 'user-saved',
      user: { ...ada, sub: '5f2c', emailVerified: true, hasPassword: true, updatedAt: since },
      claims: [
        { claim: 'given_name', value: 'Ada' },
        { claim: 'address', value: '12 St James’s Square\nLondon' },
      ],
      groups: ada.groups.map((name) => ({
        name,
        uri: `/admin/groups/${name}`,
        sources: name === 'staff' ? ['corporate'] : ['manual'],
      })),
      offered: ['crew', 'guests'],
      sessions: { count: 2, uri: '/admin/sessions?user=5f2c' },
      grants: [{ clientId: 'harbour', clientName: 'Harbour', createdAt: since }],
      factors: [
        {
          kind: 'authenticator',
          name: 'Telephone',
          createdAt: since,
          usedAt: since,
          removeUri: '/admin/users/5f2c?id=1',
        },
        { kind: 'passkey', name: '', createdAt: since, removeUri: '/admin/users/5f2c?id=2' },
        { kind: 'other', name: 'Card', createdAt: since, removeUri: '/admin/users/5f2c?id=3' },
      ],
      recoveryCodes: 8,
      connections: { names: ['Corporate', 'Partners'], uri: '/admin/users/5f2c/connections' },
      events: [
        {
          ...{ id: '9', type: 'user.signed_in', failed: false, at: since, uri: '/admin/audit/9' },
          actor: { id: '5f2c', name: 'ada', uri: '/admin/users/5f2c' },
          client: { id: 'harbour', name: 'Harbour', uri: '/admin/clients/harbour' },
        },
        { id: '8', type: 'user.sign_in_failed', failed: true, at: since },
      ],
      form: form('/admin'),
      refused: { field: 'group', member: 'group', code: 'unknown', whole: false },
      typedGroup: 'crews',
      ...urisOf('5f2c'),
    },
  ],
  'console-user-edit': [
    {
      ...users,
      form: form('/admin/users/new'),
      fields: ['username', 'email', 'email_verified', 'name', 'given_name', 'family_name'].map((field) => ({
        ...{ field, value: '' },
      })),
      access: { chosen: 'invite', byMail: false, lifetime: 604_800, least: 12, most: 128 },
    },
    {
      ...users,
      user: { username: 'ada', uri: '/admin/users/5f2c' },
      form: form('/admin/users/5f2c/edit'),
      fields: [
        { field: 'username', value: 'grace', fault: { code: 'in-use' } },
        { field: 'email', value: 'ada', fault: { code: 'email' } },
        { field: 'email_verified', value: 'true' },
        { field: 'name', value: 'Ada Lovelace' },
        { field: 'given_name', value: 'Ada' },
        { field: 'family_name', value: 'Lovelace' },
        { field: 'middle_name', value: '' },
        { field: 'nickname', value: '' },
        { field: 'preferred_username', value: 'x'.repeat(20), fault: { code: 'too-long', params: { most: '1000' } } },
        { field: 'gender', value: '' },
        { field: 'birthdate', value: '10 December', fault: { code: 'date' } },
        { field: 'phone_number', value: '+44 20 7946 0000' },
        { field: 'phone_number_verified', value: '' },
        { field: 'website', value: 'ada.example', fault: { code: 'invalid' } },
        { field: 'profile', value: '' },
        { field: 'picture', value: '' },
        { field: 'formatted', value: '12 St James’s Square\nLondon' },
        { field: 'street_address', value: '12 St James’s Square' },
        { field: 'postal_code', value: '' },
        { field: 'locality', value: 'London' },
        { field: 'region', value: '' },
        { field: 'country', value: '' },
        { field: 'locale', value: 'en' },
        { field: 'zoneinfo', value: 'Europe/London' },
      ],
    },
  ],
  'console-user-password': [
    {
      ...users,
      ...{ username: 'x', userUri: '/admin/users/x', disabled: true },
      form: form('/admin/users/x/password'),
      ...{ lifetimes: [3600], lifetime: 3600, least: 12, most: 128 },
    },
    {
      ...users,
      ...{ username: 'ada', userUri: '/admin/users/5f2c', disabled: false },
      form: form('/admin/users/5f2c/password'),
      ...{ lifetimes: [3600, 86_400, 604_800], lifetime: 86_400, least: 12, most: 128 },
      fault: 'common',
    },
  ],
  'console-user-link': [
    {
      ...users,
      ...{ username: 'x', userUri: '/admin/users/x', of: 'password', lifetime: 3600, expiresAt: since },
      uri: 'https://sso.example.com/password/reset?token=Zm9v',
    },
    {
      ...users,
      ...{ username: 'ada', userUri: '/admin/users/5f2c', of: 'new-user', lifetime: 604_800, expiresAt: since },
      uri: 'https://sso.example.com/invitation?token=pNYvF2qk0ttb2Yp5m0m1xTWi9JwAdCBhHVAyJ-LsBf8',
    },
  ],
  'console-user-connections': [
    {
      ...users,
      ...{ username: 'x', userUri: '/admin/users/x', links: [], breakGlass: false },
      form: form('/admin/users/x/connections'),
    },
    {
      ...users,
      ...{ username: 'ada', userUri: '/admin/users/5f2c', breakGlass: true },
      links: [
        {
          ...{ connection: 'corporate', name: 'Corporate', uri: '/admin/connections/corporate', subject: '00u1a2b3c4' },
          ...{
            since: new Date('2026-03-14T09:26:53Z'),
            usedAt: new Date('2026-03-14T09:26:53Z'),
            only: true,
            unasked: true,
          },
        },
        {
          ...{ connection: 'partners', name: 'Partners', uri: '/admin/connections/partners', subject: 'ada' },
          ...{ since: new Date('2026-03-14T09:26:53Z'), only: false, unasked: false },
        },
      ],
      form: form('/admin/users/5f2c/connections'),
    },
  ],
  'console-user-factors-remove': [
    {
      ...users,
      ...{ username: 'x', userUri: '/admin/users/x', passwordUri: '/admin/users/x/password' },
      ...{ factors: [{ kind: 'authenticator', name: 'Telephone' }], left: 1, recoveryCodes: 0, shutOut: false },
      form: form('/admin/users/x/second-factors/remove'),
    },
    {
      ...users,
      ...{ username: 'ada', userUri: '/admin/users/5f2c', passwordUri: '/admin/users/5f2c/password' },
      factors: [
        { kind: 'authenticator', name: 'Telephone' },
        { kind: 'passkey', name: '' },
        { kind: 'other', name: 'Card' },
      ],
      ...{ left: 0, recoveryCodes: 8, shutOut: true, problem: 'only-way' },
      form: form('/admin/users/5f2c/second-factors/remove'),
    },
  ],
  'console-user-confirm': [
    {
      ...users,
      ...{ operation: 'disable', username: 'x', userUri: '/admin/users/x', sessions: 0, grants: 0, most: 100 },
      form: form('/admin/users/x/disable'),
    },
    {
      ...users,
      ...{ operation: 'delete', username: 'ada', userUri: '/admin/users/5f2c', sessions: 2, grants: 100, most: 100 },
      form: form('/admin/users/5f2c/delete'),
      typed: 'Ada',
      problem: 'typed',
    },
  ],
};
