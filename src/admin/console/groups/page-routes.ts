// Serves the console's pages that show one group, change its members, rename it and delete it.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AdminSession, Console, Needs } from '../admin-session.ts';
import { eventRows } from '../linked-names.ts';
import { fieldsOf, inputOf, namesOf, type Typed, typedIn, typedOf } from '../form.ts';
import { refusedView } from '../refused.ts';
import { isTypedName } from '../typed-name.ts';
import { view } from '../../../entities/entity.ts';
import { formOf } from '../../../entities/form.ts';
import { type Group, groups } from '../../../entities/groups.ts';
import { readUserCursor, userCursorOf } from '../../../domain/administration/paging.ts';
import type { Refusal } from '../../../oauth/refusals.ts';
import { singleValued } from '../../../server/parameters.ts';
import type { ConsoleGroupsPages } from '../../../pages/views/console-groups.ts';
import { changeGroup, changeMembers, deleteGroup, showGroup } from '../../operations/groups.ts';
import { findMembers, groupPage } from '../../operations/pages/groups.ts';
import { maxAtOnce } from '../../../domain/administration/groups.ts';
import { guardedGroups } from '../../../domain/administration/guarded-groups.ts';
import type { Config } from '../../../config.ts';

const pageSize = 50;
const path = '/admin/groups';
/** How many unknown names the page shows again. */
const maxUnknown = 20;

export const groupUri = (name: string) => `${path}/${encodeURIComponent(name)}`;

interface GroupPageRoutesDependencies {
  config: Config;
  console: Console;
}

export async function groupPageRoutes(
  app: FastifyInstance,
  { console, config }: GroupPageRoutesDependencies,
): Promise<void> {
  const nameOf = (request: FastifyRequest) => (request.params as { name: string }).name;

  const find = (admin: AdminSession, request: FastifyRequest) => admin.run(showGroup, { name: nameOf(request) });
  const isGuarded = ({ name }: Group) => guardedGroups(config).includes(name);
  const valuesOf = (group: Group) => ({ ...view(groups, group), guarded: isGuarded(group) });

  /** Reads a form of one group; undefined after an answer was sent. */
  async function submitted(
    request: FastifyRequest,
    reply: FastifyReply,
    form: 'members' | 'edit' | 'delete',
    needs: Needs,
  ) {
    const uri = groupUri(nameOf(request));
    const action = `${uri}/${form}`;
    const body = singleValued(request.body);
    const admin = await console.submitted(request, reply, {
      csrf: body['csrf'],
      action,
      // the form for members is on the group's own page
      back: form === 'members' ? uri : action,
      fresh: true,
      needs,
    });
    return admin && { admin, body, group: await find(admin, request) };
  }

  async function show(
    admin: AdminSession,
    more: Pick<ConsoleGroupsPages['console-group'], 'typed' | 'refused'> = {},
  ): Promise<FastifyReply> {
    const given = singleValued(admin.request.query);
    const q = given['q']?.replaceAll('\0', '').slice(0, 255);
    const after = readUserCursor('name', given['cursor']);
    const { group, sources, events, names, ...page } = await admin.run(groupPage, {
      name: nameOf(admin.request),
      words: q,
      page: { order: 'name', limit: pageSize, after },
    });
    const found = page.members;
    const uri = groupUri(group.name);
    const query = new URLSearchParams(q ? { q } : {});
    const { name, description, members, createdAt } = group;
    return admin.send(
      'console-group',
      {
        group: { name, description, members, createdAt },
        demandsSecondFactor: config.secondFactor.of === 'everyone' || config.secondFactor.groups.includes(name),
        guarded: isGuarded(group),
        guardedSources: group.guardedSources,
        ...(q && { q }),
        people: found.users.map((user) => ({
          sub: user.sub,
          username: user.username,
          ...(typeof user.claims['name'] === 'string' && { name: user.claims['name'] }),
          ...(user.email !== undefined && { email: user.email }),
          disabled: user.status === 'disabled',
          uri: `/admin/users/${encodeURIComponent(user.sub)}`,
          sources: sources.get(user.sub) ?? [],
        })),
        broad: found.broad,
        form: admin.form(`${uri}/members`),
        groupUri: uri,
        editUri: `${uri}/edit`,
        deleteUri: `${uri}/delete`,
        usersUri: `/admin/users?${new URLSearchParams({ group: name })}`,
        events: eventRows(names, events),
        ...more,
        ...(after && { first: `${uri}?${query}` }),
        ...(found.next && { next: `${uri}?${query}&cursor=${userCursorOf(found.next)}` }),
      },
      { section: 'groups', status: more.refused ? 400 : 200 },
    );
  }

  console.page(app, `${path}/:name`, (admin) => show(admin), { needs: groupPage });

  app.post(`${path}/:name/members`, async (request, reply) => {
    const sent = await submitted(request, reply, 'members', changeMembers);
    if (!sent) return reply;
    const { admin, group } = sent;
    const { remove, users: typed = '' } = sent.body;
    const uri = groupUri(group.name);
    const change = (input: { add: string[] } | { remove: string[] }) =>
      admin.perform(changeMembers, { name: group.name }, input as never);
    if (remove !== undefined) {
      await change({ remove: [remove.replaceAll('\0', '')] });
      return admin.done(uri, 'member-removed');
    }
    const lines = typed.split(/\r?\n/).map((line) => line.trim());
    const logins = [...new Set(lines.filter((line) => line !== ''))];
    const again = ({ code, params }: Pick<Refusal, 'code' | 'params'>) =>
      show(admin, { typed, refused: refusedView({ code, member: 'users', params }, ['users']) });
    if (logins.length === 0) return again({ code: 'missing' });
    if (logins.length > maxAtOnce) return again({ code: 'entries', params: { most: String(maxAtOnce) } });
    const search = await admin.run(findMembers, logins);
    if ('several' in search) return again({ code: 'several-users', params: { name: search.several } });
    const { found } = search;
    const unknown = logins.filter((_login, index) => found[index] === undefined).slice(0, maxUnknown);
    const names = unknown.map((login) => login.slice(0, 120)).join(', ');
    if (unknown.length > 0) return again({ code: 'unknown', params: { names } });
    const added = await change({ add: found.filter((sub) => sub !== undefined) });
    if ('refused' in added) return again(added.refused);
    return admin.done(uri, 'members-added');
  });

  async function showEdit(admin: AdminSession, group: Group, typed?: Typed, refusal?: Refusal): Promise<FastifyReply> {
    const uri = groupUri(group.name);
    const values = valuesOf(group);
    const form = formOf(groups, values);
    return admin.send(
      'console-group-edit',
      {
        name: group.name,
        groupUri: uri,
        members: group.members,
        most: maxAtOnce,
        fields: fieldsOf(form, typed ?? typedOf(form, values)),
        form: admin.form(`${uri}/edit`),
        ...(refusal && { refused: refusedView(refusal, namesOf(form)) }),
      },
      { section: 'groups', status: refusal ? 400 : 200 },
    );
  }

  console.page(app, `${path}/:name/edit`, async (admin, request) => showEdit(admin, await find(admin, request)), {
    needs: changeGroup,
  });

  app.post(`${path}/:name/edit`, async (request, reply) => {
    const sent = await submitted(request, reply, 'edit', changeGroup);
    if (!sent) return reply;
    const { admin, body, group } = sent;
    const form = formOf(groups, valuesOf(group));
    const typed = typedIn(form, body);
    const { name, ...change } = inputOf(form, typed);
    // an import may have created a group whose name this form refuses: an unchanged name is not checked
    const input = { ...change, ...(name !== group.name && { name: String(name) }) };
    const changed = await admin.perform(changeGroup, { name: group.name }, input);
    if ('done' in changed) return admin.done(groupUri(changed.done.group.name), 'group-changed');
    return showEdit(admin, group, typed, changed.refused);
  });

  async function showDeletion(
    admin: AdminSession,
    group: Group,
    { typed, refusal }: { typed?: string; refusal?: Refusal } = {},
  ): Promise<FastifyReply> {
    const uri = groupUri(group.name);
    return admin.send(
      'console-group-delete',
      {
        name: group.name,
        groupUri: uri,
        members: group.members,
        most: maxAtOnce,
        form: admin.form(`${uri}/delete`),
        ...(typed !== undefined && { typed: typed.slice(0, 255), problem: 'typed' as const }),
        ...(refusal && { refused: refusedView(refusal, []) }),
      },
      { section: 'groups', status: typed !== undefined || refusal ? 400 : 200 },
    );
  }

  console.page(app, `${path}/:name/delete`, async (admin, request) => showDeletion(admin, await find(admin, request)), {
    needs: deleteGroup,
  });

  app.post(`${path}/:name/delete`, async (request, reply) => {
    const sent = await submitted(request, reply, 'delete', deleteGroup);
    if (!sent) return reply;
    const { admin, body, group } = sent;
    if (!isTypedName(body['typed'], group.name)) return showDeletion(admin, group, { typed: body['typed'] ?? '' });
    const deleted = await admin.perform(deleteGroup, { name: group.name });
    if ('refused' in deleted) return showDeletion(admin, group, { refusal: deleted.refused });
    return admin.done(path, 'group-deleted');
  });
}
