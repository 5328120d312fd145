// Gives example data of the console's group pages.
import type { ConsoleGroupsPages } from '../../src/pages/views/console-groups.ts';
import type { Examples, FieldView } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
import { form } from './parts.ts';

const groups = { ...consoleFrame, section: 'groups' as const };
const uris = {
  groupUri: '/admin/groups/engineers',
  editUri: '/admin/groups/engineers/edit',
  deleteUri: '/admin/groups/engineers/delete',
  usersUri: '/admin/users?group=engineers',
};
const since = new Date('2026-03-14T09:26:53Z');

const fields = (name: string, description: string): FieldView[] => [
  { name: 'name', kind: 'text', value: name, required: true, writing: 'auto' },
  { name: 'description', kind: 'text', value: description, most: 1000, writing: 'auto' },
];

export const consoleGroupsExamples: Examples<ConsoleGroupsPages> = {
  'console-groups': [
    { ...groups, groups: [], fields: fields('', ''), form: form('/admin') },
    {
      ...groups,
      q: 'eng',
      groups: [
        {
          name: 'engineers',
          description: 'Who builds it',
          members: 1234,
          guarded: true,
          uri: '/admin/groups/engineers',
        },
      ],
      form: form('/admin'),
      fields: fields('engineers', 'Again'),
      refused: { field: 'name', member: 'name', code: 'group.exists', whole: true },
      first: '/admin/groups',
      next: '/admin/groups?cursor=x',
    },
  ],
  'console-group': [
    {
      ...groups,
      ...uris,
      group: { name: 'engineers', description: '', members: 0, createdAt: since },
      demandsSecondFactor: false,
      guarded: false,
      guardedSources: [],
      people: [],
      events: [],
      broad: false,
      form: form('/admin'),
    },
    {
      ...groups,
      ...uris,
      group: {
        name: 'Donaudampfschifffahrtsgesellschaftskapitäne',
        description: 'Who steers the ships of the company on the Danube, and those who learn how to',
        members: 1234567,
        createdAt: since,
      },
      demandsSecondFactor: true,
      guarded: true,
      guardedSources: ['corporate', 'partners'],
      q: 'ada',
      people: [
        {
          sub: '5f2c',
          username: 'ada',
          name: 'Ada Lovelace',
          email: 'ada@example.com',
          disabled: false,
          uri: '/admin/users/5f2c',
          sources: ['manual', 'corporate'],
        },
        { sub: 'x', username: 'x', disabled: true, uri: '/admin/users/x', sources: ['manual'] },
      ],
      broad: true,
      events: [
        {
          id: '4712',
          at: since,
          type: 'user.changed',
          failed: false,
          actor: { id: 'command line' },
          user: { id: '5f2c', name: 'ada', uri: '/admin/users/5f2c' },
          uri: '/admin/audit/4712',
        },
        { id: '4711', at: since, type: 'group.created', failed: false, uri: '/admin/audit/4711' },
      ],
      form: form('/admin'),
      typed: 'grace\nnobody',
      refused: { field: 'users', member: 'users', code: 'unknown', params: { names: 'nobody' }, whole: false },
      first: '/admin/groups/engineers',
      next: '/admin/groups/engineers?cursor=x',
    },
  ],
  'console-group-edit': [
    {
      ...groups,
      name: 'x',
      groupUri: '/admin/groups/x',
      members: 0,
      most: 1000,
      fields: fields('x', ''),
      form: form('/admin'),
    },
    {
      ...groups,
      name: 'engineers',
      groupUri: uris.groupUri,
      members: 1234,
      most: 1000,
      fields: [...fields('staff', 'Who builds it'), { name: 'guarded_sources', kind: 'lines', value: 'corporate' }],
      form: form('/admin'),
      refused: { field: 'name', member: 'name', code: 'group.exists', whole: true },
    },
  ],
  'console-group-delete': [
    { ...groups, name: 'x', groupUri: '/admin/groups/x', members: 0, most: 1000, form: form('/admin') },
    {
      ...groups,
      name: 'engineers',
      groupUri: uris.groupUri,
      members: 12,
      most: 1000,
      form: form('/admin'),
      typed: 'engineer',
      problem: 'typed',
    },
  ],
};
