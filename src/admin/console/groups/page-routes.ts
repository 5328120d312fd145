// Serves the console's pages that show one group, change its members, rename it and delete it.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AdminSession, Console } from '../admin-session.ts';
import { eventRows } from '../linked-names.ts';
import { unlessSeveral } from '../named-user.ts';
import { fieldsOf, inputOf, namesOf, type Typed, typedIn, typedOf } from '../form.ts';
import { refusedView } from '../refused.ts';
import { isTypedName } from '../typed-name.ts';
import { groupForm } from './form.ts';
import { readUserCursor, userCursorOf } from '../../../domain/administration/paging.ts';
import type { Refusal } from '../../../oauth/refusals.ts';
import { singleValued } from '../../../server/parameters.ts';
import type { ConsoleGroupsPages } from '../../../pages/views/console-groups.ts';
import { changeGroup, changeMembers, deleteGroup, findGroup } from '../../operations/groups.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { perform } from '../../perform.ts';
import { maxAtOnce } from '../../../domain/administration/groups.ts';
import type { Group } from '../../../repositories/groups/groups.ts';
import { guardedGroups } from '../../../domain/administration/guarded-groups.ts';
import type { Config } from '../../../config.ts';
import type { Store } from '../../../repositories/store.ts';

const pageSize = 50;
const path = '/admin/groups';
/** How many unknown names the page shows again. */
const maxUnknown = 20;
const maxEvents = 10;

export const groupUri = (name: string) => `${path}/${encodeURIComponent(name)}`;

interface GroupPageRoutesDependencies {
  config: Config;
  store: Store;
  console: Console;
  operationContext: OperationContext;
}

export async function groupPageRoutes(
  app: FastifyInstance,
  { store, console, config, operationContext }: GroupPageRoutesDependencies,
): Promise<void> {
  const nameOf = (request: FastifyRequest) => (request.params as { name: string }).name;

  const find = (name: string) => findGroup(store, name);
  const isGuarded = ({ name }: Group) => guardedGroups(config).includes(name);

  /** The latest events of a group: each search reads a bounded number of events of its type. */
  async function eventsOf(group: string) {
    const types = ['group.created', 'group.changed', 'user.changed'] as const;
    const page = { limit: maxEvents, before: undefined };
    const found = await Promise.all(types.map((type) => store.auditSearch.search({ type, group }, page)));
    const events = found.flatMap((one) => one.events);
    return events.sort((a, b) => b.at.getTime() - a.at.getTime() || Number(b.id) - Number(a.id)).slice(0, maxEvents);
  }

  /** Reads a form of one group; undefined after an answer was sent. */
  async function submitted(request: FastifyRequest, reply: FastifyReply, form: 'members' | 'edit' | 'delete') {
    const uri = groupUri(nameOf(request));
    const action = `${uri}/${form}`;
    const body = singleValued(request.body);
    const admin = await console.submitted(request, reply, {
      csrf: body['csrf'],
      action,
      // the form for members is on the group's own page
      back: form === 'members' ? uri : action,
      fresh: true,
    });
    return admin && { admin, body, group: await find(nameOf(request)) };
  }

  async function show(
    admin: AdminSession,
    more: Pick<ConsoleGroupsPages['console-group'], 'typed' | 'refused'> = {},
  ): Promise<FastifyReply> {
    const group = await find(nameOf(admin.request));
    const uri = groupUri(group.name);
    const given = singleValued(admin.request.query);
    const q = given['q']?.replaceAll('\0', '').slice(0, 255);
    const after = readUserCursor('name', given['cursor']);
    const found = await store.userSearch.find(
      { group: group.name, words: q },
      { order: 'name', limit: pageSize, after },
    );
    const subs = found.users.map(({ sub }) => sub);
    const [events, sources] = await Promise.all([eventsOf(group.name), store.memberships.ofGroup(group.name, subs)]);
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
        events: await eventRows(store, events),
        ...more,
        ...(after && { first: `${uri}?${query}` }),
        ...(found.next && { next: `${uri}?${query}&cursor=${userCursorOf(found.next)}` }),
      },
      { section: 'groups', status: more.refused ? 400 : 200 },
    );
  }

  console.page(app, `${path}/:name`, (admin) => show(admin));

  app.post(`${path}/:name/members`, async (request, reply) => {
    const sent = await submitted(request, reply, 'members');
    if (!sent) return reply;
    const { admin, group } = sent;
    const { remove, users: typed = '' } = sent.body;
    const uri = groupUri(group.name);
    const change = (input: { add: string[] } | { remove: string[] }) =>
      perform(changeMembers, operationContext, {
        params: { name: group.name },
        input: input as never,
        actor: admin.by,
      });
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
    const search = await unlessSeveral(store.userBatches.named(logins.map((login) => login.replaceAll('\0', ''))));
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
    const form = groupForm(isGuarded(group));
    return admin.send(
      'console-group-edit',
      {
        name: group.name,
        groupUri: uri,
        members: group.members,
        most: maxAtOnce,
        fields: fieldsOf(form, typed ?? typedOf(form, { ...group, guarded_sources: group.guardedSources })),
        form: admin.form(`${uri}/edit`),
        ...(refusal && { refused: refusedView(refusal, namesOf(form)) }),
      },
      { section: 'groups', status: refusal ? 400 : 200 },
    );
  }

  console.page(app, `${path}/:name/edit`, async (admin, request) => {
    const group = await find(nameOf(request));
    return showEdit(admin, group);
  });

  app.post(`${path}/:name/edit`, async (request, reply) => {
    const sent = await submitted(request, reply, 'edit');
    if (!sent) return reply;
    const { admin, body, group } = sent;
    const form = groupForm(isGuarded(group));
    const typed = typedIn(form, body);
    const { name, ...change } = inputOf(form, typed);
    // an import may have created a group whose name this form refuses: an unchanged name is not checked
    const input = { ...change, ...(name !== group.name && { name: String(name) }) };
    const params = { name: group.name };
    const changed = await perform(changeGroup, operationContext, { params, input, actor: admin.by });
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

  console.page(app, `${path}/:name/delete`, async (admin, request) => showDeletion(admin, await find(nameOf(request))));

  app.post(`${path}/:name/delete`, async (request, reply) => {
    const sent = await submitted(request, reply, 'delete');
    if (!sent) return reply;
    const { admin, body, group } = sent;
    if (!isTypedName(body['typed'], group.name)) return showDeletion(admin, group, { typed: body['typed'] ?? '' });
    const params = { name: group.name };
    const deleted = await perform(deleteGroup, operationContext, { params, input: {}, actor: admin.by });
    if ('refused' in deleted) return showDeletion(admin, group, { refusal: deleted.refused });
    return admin.done(path, 'group-deleted');
  });
}
