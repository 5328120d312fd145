// Serves the console's list of groups and the form that creates one, and registers the pages of one group.
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { AdminSession, Console } from '../admin-session.ts';
import { textCursorOf } from '../../../domain/administration/paging.ts';
import { formOf } from '../../../entities/form.ts';
import { groups } from '../../../entities/groups.ts';
import { singleValued } from '../../../server/parameters.ts';
import type { RefusedView } from '../../../pages/views/parts.ts';
import { createGroup, listGroups } from '../../operations/groups.ts';
import { fieldsOf, inputOf, namesOf, type Typed, typedIn } from '../form.ts';
import { refusedView } from '../refused.ts';
import { groupUri } from './page-routes.ts';

const pageSize = 50;
const path = '/admin/groups';
const members = formOf(groups);

interface ConsoleGroupsDependencies {
  console: Console;
}

export async function consoleGroupsEndpoint(app: FastifyInstance, options: ConsoleGroupsDependencies): Promise<void> {
  const { console } = options;

  async function show(admin: AdminSession, typed: Typed = {}, refused?: RefusedView): Promise<FastifyReply> {
    const given = singleValued(admin.request.query);
    const q = given['q']?.replaceAll('\0', '').slice(0, 255);
    const { groups: found } = await admin.run(listGroups, {}, { limit: pageSize, cursor: given['cursor'], q });
    const query = new URLSearchParams(q ? { q } : {});
    const last = found.length === pageSize ? found.at(-1) : undefined;
    return admin.send(
      'console-groups',
      {
        ...(q && { q }),
        groups: found.map(({ name, description, members, guarded }) => ({
          name,
          description,
          members,
          guarded,
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

  console.page(app, path, (admin) => show(admin), { needs: listGroups });

  app.post(path, async (request, reply) => {
    const body = singleValued(request.body);
    const admin = await console.submitted(request, reply, {
      csrf: body['csrf'],
      action: path,
      back: path,
      fresh: true,
      needs: createGroup,
    });
    if (!admin) return reply;
    const typed = typedIn(members, body);
    const made = await admin.perform(createGroup, {}, inputOf(members, typed));
    if ('refused' in made) return show(admin, typed, refusedView(made.refused, namesOf(members)));
    return admin.done(groupUri(made.done.name), 'group-made');
  });
}
