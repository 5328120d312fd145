// The admin routes of groups.
import { z } from 'zod';
import { groupView } from '../../domain/administrator-views.ts';
import { pageShape, readTextCursor, textCursorOf } from '../../domain/paging.ts';
import { text } from '../../server/parameters.ts';
import { groupChangeShape, newGroupShape } from '../../oauth/administration.ts';
import { notFound } from '../../oauth/errors.ts';
import { mostAtOnce } from '../../domain/administration/groups.ts';
import { adminRoute } from './route.ts';

const path = '/admin/api/groups';
const byName = z.object({ name: text(255) });
const membersShape = z.strictObject({
  add: z.array(text(255)).max(mostAtOnce).optional(),
  remove: z.array(text(255)).max(mostAtOnce).optional(),
});

export const groupRoutes = [
  adminRoute({
    method: 'GET',
    path,
    tag: 'groups',
    summary: 'Lists groups by name, with how many members they have',
    query: pageShape.extend({ q: text(255).optional() }),
    answer: 'GroupPage',
    async handle({ store }, { query: { limit, cursor, q } }) {
      const groups = await store.groups.list({ limit, after: readTextCursor(cursor), words: q });
      const last = groups.length === limit ? groups.at(-1) : undefined;
      return { groups: groups.map(groupView), ...(last && { next_cursor: textCursorOf(last.name) }) };
    },
  }),
  adminRoute({
    method: 'POST',
    path,
    tag: 'groups',
    summary: 'Makes a group',
    body: () => newGroupShape,
    status: 201,
    answer: 'Group',
    handle: async ({ administration }, { body, by }) =>
      groupView(await administration.createGroup(by, body.name, body.description ?? '')),
  }),
  adminRoute({
    method: 'GET',
    path: `${path}/:name`,
    tag: 'groups',
    summary: 'Shows a group; its members are listed by the users with the parameter group',
    params: byName,
    answer: 'Group',
    async handle({ store }, { params: { name } }) {
      const group = await store.groups.find(name);
      if (!group) throw notFound('there is no such group');
      return groupView(group);
    },
  }),
  adminRoute({
    method: 'PATCH',
    path: `${path}/:name`,
    tag: 'groups',
    summary: `Renames or describes a group; one with more than ${mostAtOnce} members is renamed by the command line`,
    params: byName,
    body: () => groupChangeShape,
    answer: 'Group',
    async handle({ store, administration }, { params: { name }, body, by }) {
      await administration.changeGroup(by, name, body);
      const group = await store.groups.find(body.name ?? name);
      if (!group) throw notFound('there is no such group');
      return groupView(group);
    },
  }),
  adminRoute({
    method: 'DELETE',
    path: `${path}/:name`,
    tag: 'groups',
    summary: `Deletes a group; one with more than ${mostAtOnce} members is deleted by the command line`,
    params: byName,
    async handle({ administration }, { params: { name }, by }) {
      await administration.deleteGroup(by, name);
    },
  }),
  adminRoute({
    method: 'POST',
    path: `${path}/:name/members`,
    tag: 'groups',
    summary: 'Puts users into a group, and takes others out, by their subs',
    params: byName,
    body: () => membersShape,
    answer: 'MembersChange',
    handle: async ({ administration }, { params: { name }, body, by }) => ({
      ...(await administration.changeMembers(by, name, body)),
    }),
  }),
];
