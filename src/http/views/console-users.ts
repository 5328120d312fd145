// The console's pages of users and groups: what each shows, and examples.
import { consoleFrame, type ConsoleFrame } from './console.ts';
import { type Examples, form, type FormView } from './parts.ts';

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

export interface ConsoleUsersPages {
  'console-users': ConsoleFrame & {
    filter: { q?: string; group?: string; status?: 'enabled' | 'disabled'; admin: boolean; order: 'newest' | 'name' };
    users: UserLine[];
    /** More match than could be put in order. */
    broad: boolean;
    first?: string;
    next?: string;
  };
  /** Posts `act`, and `groups` with it or `client_id`. */
  'console-user': ConsoleFrame & {
    user: UserLine & { sub: string; emailVerified: boolean; hasPassword: boolean; updatedAt: Date };
    claims: { claim: string; value: string }[];
    sessions: { count: number; uri: string };
    grants: { clientId: string; clientName: string; createdAt: Date }[];
    factors: { name: string; createdAt: Date }[];
    form: FormView;
    problem?: 'last-administrator' | 'groups';
    deleteUri: string;
    auditUri: string;
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
  /** Posts `name` and `description` to make a group. */
  'console-groups': ConsoleFrame & {
    q?: string;
    groups: { name: string; description: string; members: number; uri: string }[];
    form: FormView;
    typed?: { name: string; description: string };
    problem?: 'name' | 'taken';
    first?: string;
    next?: string;
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
const users = { ...consoleFrame, section: 'users' as const };
const groups = { ...consoleFrame, section: 'groups' as const };

export const consoleUsersExamples: Examples<ConsoleUsersPages> = {
  'console-users': [
    { ...users, filter: { admin: false, order: 'newest' }, users: [], broad: false },
    {
      ...users,
      filter: { q: 'ada', group: 'staff', status: 'enabled', admin: true, order: 'name' },
      users: [ada, bare],
      broad: true,
      first: '/admin/users',
      next: '/admin/users?cursor=x',
    },
  ],
  'console-user': [
    {
      ...users,
      user: { ...bare, sub: 'x', emailVerified: false, hasPassword: false, updatedAt: since },
      claims: [],
      sessions: { count: 0, uri: '/admin/sessions?sub=x' },
      grants: [],
      factors: [],
      form: form('/admin'),
      deleteUri: '/admin/users/x/delete',
      auditUri: '/admin/audit?sub=x',
    },
    {
      ...users,
      done: 'user-saved',
      user: { ...ada, sub: '5f2c', emailVerified: true, hasPassword: true, updatedAt: since },
      claims: [{ claim: 'given_name', value: 'Ada' }],
      sessions: { count: 2, uri: '/admin/sessions?sub=5f2c' },
      grants: [{ clientId: 'harbour', clientName: 'Harbour', createdAt: since }],
      factors: [{ name: 'Telephone', createdAt: since }],
      form: form('/admin'),
      problem: 'last-administrator',
      deleteUri: '/admin/users/5f2c/delete',
      auditUri: '/admin/audit?sub=5f2c',
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
  'console-groups': [
    { ...groups, groups: [], form: form('/admin') },
    {
      ...groups,
      q: 'eng',
      groups: [{ name: 'engineers', description: 'Who builds it', members: 1234, uri: '/admin/users?group=engineers' }],
      form: form('/admin'),
      typed: { name: 'engineers', description: 'Again' },
      problem: 'taken',
      first: '/admin/groups',
      next: '/admin/groups?cursor=x',
    },
  ],
};
