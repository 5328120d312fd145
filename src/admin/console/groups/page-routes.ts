// One group in the console: who is in it and comes or goes, its other name, and its end.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ConsoleVisit } from '../admin-session.ts';
import { readUserCursor, userCursorOf } from '../../../domain/paging.ts';
import { singleValued } from '../../../server/parameters.ts';
import { unlessConflict } from '../../../pages/refused-operations.ts';
import type { ConsoleGroupsPages } from '../../../pages/views/console-groups.ts';
import { groupDescription, groupName } from '../../../oauth/administration.ts';
import { notFound } from '../../../oauth/errors.ts';
import { createAdministration } from '../../../domain/administration/administration.ts';
import { mostAtOnce } from '../../../domain/administration/groups.ts';
import type { Group } from '../../../repositories/groups/groups.ts';
import type { Config } from '../../../config.ts';
import type { Store } from '../../../repositories/store.ts';
import type { Console } from '../admin-session.ts';

const pageSize = 50;
const path = '/admin/groups';
/** Names that are nobody's: so many are shown again. */
const mostUnknown = 20;

export const groupUri = (name: string) => `${path}/${encodeURIComponent(name)}`;

export interface GroupPageRoutesDependencies {
  config: Config;
  store: Store;
  console: Console;
}

export function groupPageRoutes(app: FastifyInstance, { store, console, config }: GroupPageRoutesDependencies): void {
  const administration = createAdministration(store);
  const nameOf = (request: FastifyRequest) => (request.params as { name: string }).name;

  async function find(name: string): Promise<Group> {
    const group = name.includes('\0') ? undefined : await store.groups.find(name);
    if (!group) throw notFound('there is no such group');
    return group;
  }

  /** What was sent to a form of one group; undefined when it is answered already. */
  async function submitted(request: FastifyRequest, reply: FastifyReply, form: 'members' | 'edit' | 'delete') {
    const uri = groupUri(nameOf(request));
    const action = `${uri}/${form}`;
    const body = singleValued(request.body);
    const visit = await console.submitted(request, reply, {
      csrf: body['csrf'],
      action,
      // the members' form stands on the group's own page
      back: form === 'members' ? uri : action,
      fresh: true,
    });
    return visit && { visit, body, group: await find(nameOf(request)) };
  }

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: ConsoleVisit,
    more: Pick<ConsoleGroupsPages['console-group'], 'typed' | 'problem' | 'unknown'> = {},
  ): Promise<FastifyReply> {
    const group = await find(nameOf(request));
    const uri = groupUri(group.name);
    const given = singleValued(request.query);
    const q = given['q']?.replaceAll('\0', '').slice(0, 255);
    const after = readUserCursor('name', given['cursor']);
    const found = await store.userSearch.find(
      { group: group.name, words: q },
      { order: 'name', limit: pageSize, after },
    );
    const query = new URLSearchParams(q ? { q } : {});
    const { name, description, members, createdAt } = group;
    return console.send(
      request,
      reply,
      visit,
      'console-group',
      {
        group: { name, description, members, createdAt },
        demandsSecondFactor: config.secondFactor.of === 'everyone' || config.secondFactor.groups.includes(name),
        ...(q && { q }),
        people: found.users.map((user) => ({
          sub: user.sub,
          username: user.username,
          ...(typeof user.claims['name'] === 'string' && { name: user.claims['name'] }),
          ...(user.email !== undefined && { email: user.email }),
          disabled: user.status === 'disabled',
          uri: `/admin/users/${encodeURIComponent(user.sub)}`,
        })),
        broad: found.broad,
        form: console.form(request, reply, visit, `${uri}/members`),
        groupUri: uri,
        editUri: `${uri}/edit`,
        deleteUri: `${uri}/delete`,
        usersUri: `/admin/users?${new URLSearchParams({ group: name })}`,
        ...more,
        ...(after && { first: `${uri}?${query}` }),
        ...(found.next && { next: `${uri}?${query}&cursor=${userCursorOf(found.next)}` }),
      },
      { section: 'groups', status: more.problem ? 400 : 200 },
    );
  }

  app.get(`${path}/:name`, async (request, reply) => {
    const visit = await console.enter(request, reply);
    return visit ? show(request, reply, visit) : reply;
  });

  app.post(`${path}/:name/members`, async (request, reply) => {
    const sent = await submitted(request, reply, 'members');
    if (!sent) return reply;
    const { visit, group } = sent;
    const { remove, users: typed = '' } = sent.body;
    const uri = groupUri(group.name);
    if (remove !== undefined) {
      await administration.changeMembers(visit.by, group.name, { remove: [remove.replaceAll('\0', '')] });
      return console.done(reply, uri, 'member-removed');
    }
    const lines = typed.split(/\r?\n/).map((line) => line.trim());
    const logins = [...new Set(lines.filter((line) => line !== ''))];
    if (logins.length === 0) return show(request, reply, visit, { typed, problem: 'nobody' });
    if (logins.length > mostAtOnce) return show(request, reply, visit, { typed, problem: 'many' });
    const found = await store.userBatches.subs(logins.map((login) => login.replaceAll('\0', '')));
    const unknown = logins.filter((_login, index) => found[index] === undefined).slice(0, mostUnknown);
    if (unknown.length > 0) return show(request, reply, visit, { typed, problem: 'unknown', unknown });
    await administration.changeMembers(visit.by, group.name, { add: found.filter((sub) => sub !== undefined) });
    return console.done(reply, uri, 'members-added');
  });

  async function showEdit(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: ConsoleVisit,
    group: Group,
    typed: { name: string; description: string },
    problem?: ConsoleGroupsPages['console-group-edit']['problem'],
  ): Promise<FastifyReply> {
    const uri = groupUri(group.name);
    return console.send(
      request,
      reply,
      visit,
      'console-group-edit',
      {
        name: group.name,
        groupUri: uri,
        members: group.members,
        most: mostAtOnce,
        typed,
        form: console.form(request, reply, visit, `${uri}/edit`),
        ...(problem && { problem }),
      },
      { section: 'groups', status: problem ? 400 : 200 },
    );
  }

  app.get(`${path}/:name/edit`, async (request, reply) => {
    const visit = await console.enter(request, reply);
    if (!visit) return reply;
    const group = await find(nameOf(request));
    return showEdit(request, reply, visit, group, group);
  });

  app.post(`${path}/:name/edit`, async (request, reply) => {
    const sent = await submitted(request, reply, 'edit');
    if (!sent) return reply;
    const { visit, body, group } = sent;
    const typed = { name: body['name'] ?? '', description: body['description'] ?? '' };
    // one that was made by an import may have a name that this form would not let in: it may stay
    const name = typed.name === group.name ? group.name : groupName.safeParse(typed.name).data;
    const description = groupDescription.safeParse(typed.description).data;
    if (name === undefined) return showEdit(request, reply, visit, group, typed, 'name');
    if (description === undefined) return showEdit(request, reply, visit, group, typed, 'description');
    const changed = await unlessConflict(administration.changeGroup(visit.by, group.name, { name, description }));
    if (changed === 'conflict')
      return showEdit(request, reply, visit, group, typed, (await store.groups.find(name)) ? 'taken' : 'large');
    return console.done(reply, groupUri(name), 'group-changed');
  });

  async function showDeletion(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: ConsoleVisit,
    group: Group,
    problem?: ConsoleGroupsPages['console-group-delete']['problem'],
  ): Promise<FastifyReply> {
    const uri = groupUri(group.name);
    return console.send(
      request,
      reply,
      visit,
      'console-group-delete',
      {
        name: group.name,
        groupUri: uri,
        members: group.members,
        most: mostAtOnce,
        form: console.form(request, reply, visit, `${uri}/delete`),
        ...(problem && { problem }),
      },
      { section: 'groups', status: problem ? 400 : 200 },
    );
  }

  app.get(`${path}/:name/delete`, async (request, reply) => {
    const visit = await console.enter(request, reply);
    return visit ? showDeletion(request, reply, visit, await find(nameOf(request))) : reply;
  });

  app.post(`${path}/:name/delete`, async (request, reply) => {
    const sent = await submitted(request, reply, 'delete');
    if (!sent) return reply;
    const { visit, body, group } = sent;
    if (body['typed']?.trim() !== group.name.trim()) return showDeletion(request, reply, visit, group, 'typed');
    const deleted = await unlessConflict(administration.deleteGroup(visit.by, group.name));
    if (deleted === 'conflict') return showDeletion(request, reply, visit, group, 'large');
    return console.done(reply, path, 'group-deleted');
  });
}
