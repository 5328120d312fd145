// Serves the console's list of groups and the form that creates one, and registers the pages of one group.
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { AdminSession, Console } from '../admin-session.ts';
import { readTextCursor, textCursorOf } from '../../../domain/administration/paging.ts';
import { singleValued } from '../../../server/parameters.ts';
import type { RefusedView } from '../../../pages/views/parts.ts';
import { createGroup } from '../../operations/groups.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { perform } from '../../perform.ts';
import { fieldsOf, inputOf, namesOf, type Typed, typedIn } from '../form.ts';
import { refusedView } from '../refused.ts';
import { groupForm } from './form.ts';
import { groupUri } from './page-routes.ts';
import type { Store } from '../../../repositories/store.ts';

const pageSize = 50;
const path = '/admin/groups';
const members = groupForm(false);

interface ConsoleGroupsDependencies {
  store: Store;
  console: Console;
  operationContext: OperationContext;
}

export async function consoleGroupsEndpoint(app: FastifyInstance, options: ConsoleGroupsDependencies): Promise<void> {
  const { store, console, operationContext } = options;

  async function show(admin: AdminSession, typed: Typed = {}, refused?: RefusedView): Promise<FastifyReply> {
    const given = singleValued(admin.request.query);
    const q = given['q']?.replaceAll('\0', '').slice(0, 255);
    const groups = await store.groups.list({ limit: pageSize, after: readTextCursor(given['cursor']), words: q });
    const query = new URLSearchParams(q ? { q } : {});
    const last = groups.length === pageSize ? groups.at(-1) : undefined;
    return admin.send(
      'console-groups',
      {
        ...(q && { q }),
        groups: groups.map(({ name, description, members }) => ({
          ...{ name, description, members },
          uri: groupUri(name),
        })),
        fields: fieldsOf(members, typed),
        form: admin.form(path),
        ...(refused && { refused }),
        ...(given['cursor'] && { first: `${path}?${query}` }),
        ...(last && { next: `${path}?${query}&cursor=${textCursorOf(last.name)}` }),
      },
      { section: 'groups', status: refused ? 400 : 200 },
    );
  }

  console.page(app, path, (admin) => show(admin));

  app.post(path, async (request, reply) => {
    const body = singleValued(request.body);
    const admin = await console.submitted(request, reply, {
      csrf: body['csrf'],
      action: path,
      back: path,
      fresh: true,
    });
    if (!admin) return reply;
    const typed = typedIn(members, body);
    const input = inputOf(members, typed) as { name: string };
    const made = await perform(createGroup, operationContext, { params: {}, input, actor: admin.by });
    if ('refused' in made) return show(admin, typed, refusedView(made.refused, namesOf(members)));
    return admin.done(groupUri(made.done.name), 'group-made');
  });
}
