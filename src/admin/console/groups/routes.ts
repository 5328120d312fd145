// The console's groups: the list with counts, a form that makes one, and the pages of one.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ConsoleVisit } from '../admin-session.ts';
import { onlyForms } from '../../../server/form-body.ts';
import { readTextCursor, textCursorOf } from '../../../domain/paging.ts';
import { singleValued } from '../../../server/parameters.ts';
import type { ConsoleGroupsPages } from '../../../pages/views/console-groups.ts';
import { createGroup } from '../../operations/groups.ts';
import { perform } from '../perform.ts';
import { groupPageRoutes, groupUri } from './page-routes.ts';
import type { Store } from '../../../repositories/store.ts';
import type { PageResponses } from '../../../pages/page-response.ts';
import type { Console } from '../admin-session.ts';
import type { GroupPageRoutesDependencies } from './page-routes.ts';

const pageSize = 50;
const path = '/admin/groups';

type ConsoleGroupsDependencies = GroupPageRoutesDependencies & {
  store: Store;
  pages: PageResponses;
  console: Console;
};

export async function consoleGroupsEndpoint(app: FastifyInstance, options: ConsoleGroupsDependencies): Promise<void> {
  const { store, console, pages, operationContext } = options;
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));
  await onlyForms(app);

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: ConsoleVisit,
    more: Pick<ConsoleGroupsPages['console-groups'], 'typed' | 'problem'> = {},
  ): Promise<FastifyReply> {
    const given = singleValued(request.query);
    const q = given['q']?.replaceAll('\0', '').slice(0, 255);
    const groups = await store.groups.list({ limit: pageSize, after: readTextCursor(given['cursor']), words: q });
    const query = new URLSearchParams(q ? { q } : {});
    const last = groups.length === pageSize ? groups.at(-1) : undefined;
    return console.send(
      request,
      reply,
      visit,
      'console-groups',
      {
        ...(q && { q }),
        groups: groups.map(({ name, description, members }) => ({
          ...{ name, description, members },
          uri: groupUri(name),
        })),
        form: console.form(request, reply, visit, path),
        ...more,
        ...(given['cursor'] && { first: `${path}?${query}` }),
        ...(last && { next: `${path}?${query}&cursor=${textCursorOf(last.name)}` }),
      },
      { section: 'groups', status: more.problem ? 400 : 200 },
    );
  }

  app.get(path, async (request, reply) => {
    const visit = await console.enter(request, reply);
    return visit ? show(request, reply, visit) : reply;
  });

  app.post(path, async (request, reply) => {
    const body = singleValued(request.body);
    const visit = await console.submitted(request, reply, {
      csrf: body['csrf'],
      action: path,
      back: path,
      fresh: true,
    });
    if (!visit) return reply;
    const typed = { name: body['name'] ?? '', description: body['description'] ?? '' };
    const made = await perform(createGroup, operationContext, { params: {}, input: typed, actor: visit.by });
    if ('refused' in made) return show(request, reply, visit, { typed, problem: made.refused });
    return console.done(reply, groupUri(made.done.name), 'group-made');
  });

  groupPageRoutes(app, options);
}
