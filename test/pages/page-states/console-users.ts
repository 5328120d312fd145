// Lists states of the console's user pages, beside the examples.
import { groupsOf } from '../../../src/admin/console/form.ts';
import { userForm } from '../../../src/admin/console/users/fields.ts';
import { importNotes, importReasons } from '../../../src/rules/users/import-reasons.ts';
import { examples } from '../../../templates/examples/index.ts';
import { ownRefusals, type View } from './state.ts';

const since = new Date('2026-03-14T09:26:53Z');
const user = examples['console-user'];
const [confirmation] = examples['console-user-confirm'];
const users = examples['console-users'];

const imports = examples['console-users-import'];
const edit = examples['console-user-edit'];
const password = examples['console-user-password'];
const removal = examples['console-user-factors-remove'];

export const consoleUsersStates: View[] = [
  { name: 'console-user', data: { ...user[1], refused: undefined, problem: 'invitable' } as never },
  ...ownRefusals('console.user').map((refused): View => ({ name: 'console-user', data: { ...user[1], refused } })),
  {
    name: 'console-user',
    data: {
      ...user[0],
      done: 'user-disabled',
      user: { ...user[0].user, email: 'x@example.com', emailVerified: false },
      claims: [
        { claim: 'preferred_username', value: 'x' },
        { claim: 'phone_number_verified', value: 'true', flag: true },
      ],
    },
  },
  ...[
    'user-made',
    'user-invited',
    'invitation-sent',
    'invitation-revoked',
    'user-password-set',
    'user-factor-removed',
  ].map((done): View => ({
    name: 'console-user',
    data: { ...user[0], done },
  })),
  ...ownRefusals('console.user-edit').map(({ field, code }): View => ({
    name: 'console-user-edit',
    data: { ...edit[0], groups: groupsOf(userForm, {}, { [field!]: { code } }), passwordFault: 'length' },
  })),
  { name: 'console-user-edit', data: { ...edit[1], problem: 'changed' } },
  {
    name: 'console-user-edit',
    data: {
      ...edit[0],
      problem: 'busy',
      passwordFault: 'common',
      access: { ...edit[0].access!, chosen: 'password', byMail: true },
    },
  },
  { name: 'console-user-password', data: { ...password[0], problem: 'busy' } },
  { name: 'console-user-link', data: { ...examples['console-user-link'][0], of: 'invitation' } },
  ...[1, 20].map((uses): View => ({
    name: 'console-user-link',
    data: { ...examples['console-user-link'][1], of: 'sign-up-link', uses },
  })),
  ...[
    { byMail: true },
    { byMail: false, pending: { createdAt: since, expiresAt: since } },
    { byMail: true, pending: { createdAt: since, email: 'x@example.com' } },
    { byMail: true, pending: { createdAt: since, expiresAt: since, email: 'x@example.com' } },
  ].map((invitation): View => ({ name: 'console-user', data: { ...user[0], invitation } })),
  { name: 'console-user-password', data: { ...password[1], fault: 'missing' } },
  { name: 'console-user-factors-remove', data: { ...removal[0], factors: [{ kind: 'passkey', name: 'Key' }] } },
  ...(['missing', 'long', 'changed', 'busy', 'interrupted'] as const).map((problem): View => ({
    name: 'console-users-import',
    data: { ...imports[0], problem },
  })),
  {
    name: 'console-users-import',
    data: {
      ...imports[0],
      result: { counts: { created: 0, updated: 0, unchanged: 1, refused: 0 }, refusals: [], notes: [] },
    },
  },
  { name: 'console-users-import', data: { ...imports[0], checking: { line: 1234, lines: 10_001 } } },
  ...(['missing', 'unknown', 'twice', 'separator', 'space', 'encoding', 'empty'] as const).flatMap((kind) =>
    ['sub', ''].map((column): View => ({
      name: 'console-users-import',
      data: {
        ...imports[0],
        problem: 'head',
        head: { kind, column: kind === 'unknown' ? column : 'sub', columns: ['sub'] },
      },
    })),
  ),
  {
    name: 'console-users-import-status',
    data: {
      ...examples['console-users-import-status'][1],
      result: {
        counts: { created: 0, updated: 0, unchanged: 0, refused: 50 },
        refusals: [
          ...Object.keys(importReasons).map((reason, line) => ({ line, column: 'sub', reason })),
          { line: 50, column: '', reason: 'is a reason of another version' },
        ],
        notes: Object.keys(importNotes).map((reason, line) => ({ line, column: 'username', reason })),
      },
    },
  },
  { name: 'console-users-import-status', data: { ...examples['console-users-import-status'][1], state: 'done' } },
  {
    name: 'console-user-confirm',
    data: {
      ...confirmation,
      refused: { member: 'admin', code: 'links.undecided', whole: true },
      connectionsUri: '/admin/users/x/connections',
    },
  },
  { name: 'console-user-confirm', data: { ...confirmation, operation: 'no-admin' } },
  { name: 'console-user-confirm', data: { ...confirmation, operation: 'make-admin', typed: '' } },
  { name: 'console-users', data: { ...users[0], done: 'user-deleted' } },
];
