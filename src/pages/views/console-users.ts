// The console's pages of users: what each shows, and examples.
import { consoleFrame, type ConsoleFrame } from './console.ts';
import { type ClaimText, type Examples, form, type FormView } from './parts.ts';

/** A user as a line of a list. */
export interface UserLine {
  username: string;
  email?: string;
  name?: string;
  disabled: boolean;
  admin: boolean;
  groups: string[];
  createdAt: Date;
  uri: string;
}

export interface ImportResult {
  counts: { created: number; updated: number; unchanged: number; refused: number };
  /** The first of them; a reason is a code, or the sentence that an older version stored. */
  refusals: { line: number; column: string; reason: string }[];
}

/** Its words are `console.user.factor.{kind}`; `other` is a kind without an authenticator in this version. */
export type FactorKind = string;

export type UserFieldFault = 'missing' | 'long' | 'text' | 'email' | 'url' | 'date' | 'taken' | 'taken-email';

/** A field of the form: a claim, a member of the address, or what users have beside claims. */
export interface UserField {
  field: string;
  /** Of what is ticked or not: "true" or empty. */
  value: string;
  fault?: UserFieldFault;
  /** Characters, where it is too long. */
  most?: number;
}

export interface ConsoleUsersPages {
  'console-users': ConsoleFrame & {
    filter: { q?: string; group?: string; status?: 'enabled' | 'disabled'; admin: boolean; order: 'newest' | 'name' };
    users: UserLine[];
    /** More match than could be put in order. */
    broad: boolean;
    importUri: string;
    /** Has the filter in its query. */
    exportUri: string;
    first?: string;
    next?: string;
  };
  /** Posts `users`, `update` and `with_admins`, and `act`: "check", or "import" what was checked. */
  'console-users-import': ConsoleFrame & {
    form: FormView;
    /** Users that were typed or read. */
    typed: string;
    update: boolean;
    admins: boolean;
    /** Characters that are taken. */
    most: number;
    /** What a check found. */
    result?: ImportResult;
    /** While the check goes on: nothing but how far it is is shown. */
    checking?: { line: number; lines: number };
    problem?: 'missing' | 'long' | 'head' | 'changed' | 'busy' | 'interrupted';
    /** What is wrong with the head, and which columns there are; `column` is empty where it has no name to show. */
    head?: { kind: 'missing' | 'unknown' | 'twice'; column: string; columns: readonly string[] };
  };
  'console-users-import-status': ConsoleFrame & {
    state: 'running' | 'done' | 'stopped';
    /** All lines, and up to which it is. */
    lines: number;
    line: number;
    startedAt: Date;
    result: ImportResult;
    uri: string;
  };
  /** Posts `format` and the filter. */
  'console-users-export': ConsoleFrame & {
    filter: { q?: string; group?: string; status?: 'enabled' | 'disabled'; admin: boolean };
    form: FormView;
  };
  /** Posts `act`, and `group` with it or `client_id`. */
  'console-user': ConsoleFrame & {
    user: UserLine & { sub: string; emailVerified: boolean; hasPassword: boolean; updatedAt: Date };
    claims: ClaimText[];
    groups: { name: string; uri: string }[];
    /** Some of the groups that the user is not in. */
    offered: string[];
    sessions: { count: number; uri: string };
    grants: { clientId: string; clientName: string; createdAt: Date }[];
    factors: { kind: FactorKind; name: string; createdAt: Date; usedAt?: Date; removeUri: string }[];
    recoveryCodes: number;
    form: FormView;
    problem?: 'last-administrator' | 'group' | 'no-group' | 'many-groups';
    typedGroup?: string;
    editUri: string;
    passwordUri: string;
    /** Takes all second factors away. */
    removeUri: string;
    deleteUri: string;
    auditUri: string;
  };
  /** Posts every field under its name; without a user one is made, and `password` may be posted, too. */
  'console-user-edit': ConsoleFrame & {
    user?: { username: string; uri: string };
    form: FormView;
    fields: UserField[];
    /** What a first password has, in characters, and how long a link is good for in its place, in seconds. */
    password?: { least: number; most: number; link: number };
    passwordFault?: 'missing' | 'length' | 'common';
    problem?: 'changed' | 'busy';
  };
  /** Posts `act`: "link" with `lifetime`, or "set" with `new_password`. */
  'console-user-password': ConsoleFrame & {
    username: string;
    userUri: string;
    disabled: boolean;
    form: FormView;
    /** In seconds, and the one that is chosen. */
    lifetimes: number[];
    lifetime: number;
    /** In characters. */
    least: number;
    most: number;
    fault?: 'missing' | 'length' | 'common';
    problem?: 'busy';
  };
  /** A link by which somebody chooses a password, shown once. */
  'console-user-link': ConsoleFrame & {
    username: string;
    userUri: string;
    /** Whole, with the base address. */
    recoveryUri: string;
    /** In seconds. */
    lifetime: number;
    expiresAt: Date;
    /** For somebody who was just made. */
    made: boolean;
  };
  /** Says what goes with second factors of a user. */
  'console-user-factors-remove': ConsoleFrame & {
    username: string;
    userUri: string;
    passwordUri: string;
    factors: { kind: FactorKind; name: string }[];
    /** How many others stay. */
    left: number;
    /** How many go with the last one. */
    recoveryCodes: number;
    /** Nothing is left to sign in with. */
    shutOut: boolean;
    form: FormView;
    problem?: 'only-way';
  };
  /** Asks for the user name in `typed` before all of somebody goes. */
  'console-user-delete': ConsoleFrame & {
    username: string;
    userUri: string;
    sessions: number;
    grants: number;
    form: FormView;
    problem?: 'typed' | 'last-administrator';
  };
}

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
  deleteUri: `/admin/users/${sub}/delete`,
  auditUri: `/admin/audit?user=${sub}`,
});
const refusedRows: ImportResult = {
  counts: { created: 1200, updated: 12, unchanged: 20, refused: 2001 },
  refusals: [
    { line: 3, column: 'email', reason: 'email' },
    { line: 17, column: 'address.country', reason: 'text' },
    { line: 1204, column: '', reason: 'cells' },
  ],
};
const users = { ...consoleFrame, section: 'users' as const };

export const consoleUsersExamples: Examples<ConsoleUsersPages> = {
  'console-users': [
    {
      ...users,
      filter: { admin: false, order: 'newest' },
      users: [],
      broad: false,
      importUri: '/admin/users/import',
      exportUri: '/admin/users/export',
    },
    {
      ...users,
      filter: { q: 'ada', group: 'staff', status: 'enabled', admin: true, order: 'name' },
      users: [ada, bare],
      broad: true,
      importUri: '/admin/users/import',
      exportUri: '/admin/users/export?q=ada',
      first: '/admin/users',
      next: '/admin/users?cursor=x',
    },
  ],
  'console-users-import': [
    { ...users, form: form('/admin/users/import'), typed: '', update: false, admins: false, most: 1_000_000 },
    {
      ...users,
      form: form('/admin/users/import'),
      ...{ typed: 'username,email\nada,ada@example.com\nx,y', update: true, admins: true, most: 1_000_000 },
      result: refusedRows,
      problem: 'head',
      head: { kind: 'missing', column: 'username', columns: ['username', 'email'] },
    },
  ],
  'console-users-import-status': [
    {
      ...users,
      ...{ state: 'running', lines: 10_001, line: 1234, startedAt: since, uri: '/admin/users/import/x' },
      result: { counts: { created: 1200, updated: 0, unchanged: 33, refused: 0 }, refusals: [] },
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
      groups: ada.groups.map((name) => ({ name, uri: `/admin/groups/${name}` })),
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
      form: form('/admin'),
      problem: 'no-group',
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
      password: { least: 12, most: 128, link: 86_400 },
    },
    {
      ...users,
      user: { username: 'ada', uri: '/admin/users/5f2c' },
      form: form('/admin/users/5f2c/edit'),
      fields: [
        { field: 'username', value: 'grace', fault: 'taken' },
        { field: 'email', value: 'ada', fault: 'email' },
        { field: 'email_verified', value: 'true' },
        { field: 'name', value: 'Ada Lovelace' },
        { field: 'given_name', value: 'Ada' },
        { field: 'family_name', value: 'Lovelace' },
        { field: 'middle_name', value: '' },
        { field: 'nickname', value: '' },
        { field: 'preferred_username', value: 'x'.repeat(20), fault: 'long', most: 1000 },
        { field: 'gender', value: '' },
        { field: 'birthdate', value: '10 December', fault: 'date' },
        { field: 'phone_number', value: '+44 20 7946 0000' },
        { field: 'phone_number_verified', value: '' },
        { field: 'website', value: 'ada.example', fault: 'url' },
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
      ...{ username: 'x', userUri: '/admin/users/x', made: false, lifetime: 3600, expiresAt: since },
      recoveryUri: 'https://sso.example.com/password/reset?token=Zm9v',
    },
    {
      ...users,
      ...{ username: 'ada', userUri: '/admin/users/5f2c', made: true, lifetime: 86_400, expiresAt: since },
      recoveryUri: 'https://sso.example.com/password/reset?token=pNYvF2qk0ttb2Yp5m0m1xTWi9JwAdCBhHVAyJ-LsBf8',
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
  'console-user-delete': [
    { ...users, username: 'x', userUri: '/admin/users/x', sessions: 0, grants: 0, form: form('/admin') },
    {
      ...users,
      username: 'ada',
      userUri: '/admin/users/5f2c',
      sessions: 2,
      grants: 3,
      form: form('/admin'),
      problem: 'typed',
    },
  ],
};
