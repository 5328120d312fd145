// Declares the operations on groups.
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { guardedGroups } from '../../domain/administration/guarded-groups.ts';
import { groupView } from '../../domain/administration/administrator-views.ts';
import { maxAtOnce } from '../../domain/administration/groups.ts';
import { pageShape, readTextCursor, textCursorOf } from '../../domain/administration/paging.ts';
import { invalidRequest, notFound } from '../../oauth/errors.ts';
import { text } from '../../oauth/text.ts';
import { type Group, type GroupChange, groupChangeShape, groupOptions, newGroupShape } from '../../entities/groups.ts';
import type { Store } from '../../repositories/store.ts';
import { operation } from './operation.ts';
import { shellWord, table } from './text-table.ts';

const path = '/admin/api/groups';
const section = { permission: 'groups', tag: 'groups' } as const;
const byName = z.object({ name: text(255) });
const subs = z.array(text(255)).max(maxAtOnce).optional();

/** A group with more members than one transaction changes: a command changes it in steps, and a request is refused. */
const inSteps = z.object({ in_steps: z.literal(true) });

/** @throws OAuthError not_found */
export async function findGroup({ groups }: Pick<Store, 'groups'>, name: string): Promise<Group> {
  const group = name.includes('\0') ? undefined : await groups.find(name);
  if (!group) throw notFound('there is no such group');
  return group;
}

/** The group, and whether only administrators change its members. */
const withGuard = (config: Pick<Config, 'secondFactor'>, group: Group) => ({
  ...group,
  guarded: guardedGroups(config).includes(group.name),
});

export const listGroups = operation({
  method: 'GET',
  path,
  ...section,
  summary: 'Lists groups by name, with the number of members',
  input: () =>
    pageShape.extend({
      q: text(255).optional().describe('Words that begin a word of the name or the description.'),
    }),
  answer: 'GroupPage',
  async handler({ store, config }, { input: { limit, cursor, q } }) {
    const groups = await store.groups.list({ limit, after: readTextCursor(cursor), words: q });
    return { limit, groups: groups.map((group) => withGuard(config, group)) };
  },
  view({ limit, groups }) {
    const last = groups.length === limit ? groups.at(-1) : undefined;
    return { groups: groups.map(groupView), ...(last && { next_cursor: textCursorOf(last.name) }) };
  },
  command: {
    name: 'group list',
    arguments: ['q'],
    limit: 10_000,
    text: ({ groups }) =>
      table(
        ['NAME', 'MEMBERS', 'GUARDED', 'DESCRIPTION'],
        groups.map((group) => [group.name, String(group.members), group.guarded ? 'yes' : '', group.description]),
      ),
    json: ({ groups }) => groups.map(groupView),
  },
});

export const createGroup = operation({
  method: 'POST',
  path,
  ...section,
  summary: 'Creates a group',
  input: () => newGroupShape,
  status: 201,
  answer: 'Group',
  handler: async ({ administration, config }, { input, actor }) =>
    withGuard(config, await administration.createGroup(actor, input)),
  view: groupView,
  command: {
    name: 'group create',
    arguments: ['name'],
    text: (group) =>
      `Created the group ${group.name}. Add users to it: bin/gatehouse group add ${shellWord(group.name)} USER`,
  },
});

export const showGroup = operation({
  method: 'GET',
  path: `${path}/:name`,
  ...section,
  summary: 'Shows a group; the list of users with the parameter group shows its members',
  params: byName,
  answer: 'Group',
  handler: async ({ store, config }, { params: { name } }) => withGuard(config, await findGroup(store, name)),
  view: groupView,
});

export const changeGroup = operation({
  method: 'PATCH',
  path: `${path}/:name`,
  ...section,
  summary: `Renames or describes a group, or names the connections that may change a guarded one; only the command line renames one with more than ${maxAtOnce} members`,
  params: byName,
  input: () => groupChangeShape,
  internalInput: inSteps.extend({
    into_existing: z.boolean().describe('Adds the members to the existing group with the new name, if there is one.'),
  }),
  answer: 'Group',
  async handler({ store, administration, config }, { params: { name }, input, actor }) {
    const { in_steps: gradual = false, into_existing: into = false, ...given } = input;
    // their rules have checked the members
    const change = given as GroupChange;
    if (gradual && change.name === name) throw invalidRequest('the group already has this name');
    const { moved } = await administration.changeGroup(actor, name, change, {
      gradual,
      into,
      guarded: guardedGroups(config),
    });
    return { moved, group: withGuard(config, await findGroup(store, change.name ?? name)) };
  },
  view: ({ group }) => groupView(group),
  command: [
    {
      name: 'group rename',
      summary: 'Renames a group for all its members; with --into-existing it merges the group into an existing one',
      arguments: ['name'],
      required: ['name'],
      options: { 'into-existing': 'into_existing' },
      prepare: (given) => ({ ...given, in_steps: true }),
      text: ({ moved, group }) => `Renamed the group to ${group.name}: ${moved} members.`,
      json: ({ moved, group }) => ({ group: group.name, changed: moved }),
    },
    {
      name: 'group change',
      summary: 'Changes the description of a group, or the connections that may change its members while it is guarded',
      options: groupOptions,
      text: ({ group }) => `Changed the group ${group.name}.`,
    },
    {
      name: 'group admit',
      summary:
        'Sets the connections that may change the members of a guarded group; without one, only administrators can',
      options: {},
      arguments: ['guarded_sources'],
      prepare: (given) => ({ guarded_sources: [], ...given }),
      text: ({ group }) =>
        group.guardedSources.length === 0
          ? `Only administrators change the members of ${group.name} while it is guarded.`
          : `${group.guardedSources.join(', ')} may change the members of ${group.name} although it is guarded.`,
      json: ({ group }) => groupView(group),
    },
  ],
});

export const deleteGroup = operation({
  method: 'DELETE',
  path: `${path}/:name`,
  ...section,
  summary: `Deletes a group; only the command line deletes one with more than ${maxAtOnce} members`,
  params: byName,
  internalInput: inSteps,
  answer: 'DeletedGroup',
  handler: ({ administration }, { params: { name }, input, actor }) =>
    administration.deleteGroup(actor, name, input.in_steps),
  view: (members) => ({ members }),
  command: {
    name: 'group delete',
    summary: 'Deletes a group, but not its members',
    options: {},
    prepare: (given) => ({ ...given, in_steps: true }),
    text: (members, { params: { name } }) => `Deleted the group ${name}; it had ${members} members.`,
    json: (members, { params: { name } }) => ({ group: name, changed: members }),
  },
});

export const changeMembers = operation({
  method: 'POST',
  path: `${path}/:name/members`,
  ...section,
  summary: 'Adds users to a group and removes others, by their subs',
  params: byName,
  input: () => z.strictObject({ add: subs, remove: subs }),
  answer: 'MembersChange',
  handler: ({ config, administration }, { params: { name }, input, actor }) =>
    administration.changeMembers(actor, name, input, guardedGroups(config)),
});

export const groupOperations = [listGroups, createGroup, showGroup, changeGroup, deleteGroup, changeMembers];
