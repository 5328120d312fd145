// The console's pages of users: search, one user with what can be done, and deletion.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ConsoleVisit } from '../../http/console.ts';
import { onlyForms } from '../../http/form-body.ts';
import { readUserCursor, userCursorOf } from '../../http/paging.ts';
import { singleValued } from '../../http/parameters.ts';
import type { ServerOptions } from '../../http/server-options.ts';
import type { ConsoleFrame } from '../../http/views/console.ts';
import type { ConsoleUsersPages, UserLine } from '../../http/views/console-users.ts';
import { groupName } from '../../oauth/administration.ts';
import { invalidRequest, notFound, OAuthError } from '../../oauth/errors.ts';
import { createAdministration } from '../../repositories/administration.ts';
import type { User, UserChange } from '../../repositories/users.ts';

const pageSize = 50;
/** Sessions are counted up to here. */
const mostCounted = 100;

const changes: Record<string, UserChange> = {
  disable: { status: 'disabled' },
  enable: { status: 'enabled' },
  'make-admin': { admin: true },
  'no-admin': { admin: false },
};

export async function consoleUsersEndpoint(app: FastifyInstance, options: ServerOptions): Promise<void> {
  const { store, console, pages } = options;
  const administration = createAdministration(store);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));
  await onlyForms(app);

  const subOf = (request: FastifyRequest) => (request.params as { sub: string }).sub;
  const pathOf = (user: Pick<User, 'sub'>) => `/admin/users/${encodeURIComponent(user.sub)}`;
  const find = async (sub: string): Promise<User> => {
    const user = await store.users.find(sub);
    if (!user) throw notFound('there is no such user');
    return user;
  };

  app.get('/admin/users', async (request, reply) => {
    const visit = await console.enter(request, reply);
    if (!visit) return reply;
    const given = singleValued(request.query);
    const order = given['order'] === 'name' ? 'name' : 'newest';
    const status = (['enabled', 'disabled'] as const).find((known) => known === given['status']);
    const [q, group] = [short(given['q']), short(given['group'])];
    const filter = { words: q, group, status, admin: given['admin'] === 'true' };
    const after = readUserCursor(order, given['cursor']);
    const found = await store.userSearch.find(filter, { order, limit: pageSize, after });
    const query = new URLSearchParams(
      Object.entries({ q, group, status, admin: filter.admin ? 'true' : undefined, order }).filter(
        (entry): entry is [string, string] => entry[1] !== undefined,
      ),
    );
    const data: Omit<ConsoleUsersPages['console-users'], keyof ConsoleFrame> = {
      filter: { ...(q && { q }), ...(group && { group }), ...(status && { status }), admin: filter.admin, order },
      users: found.users.map(lineOf),
      broad: found.broad,
      ...(after && { first: `/admin/users?${query}` }),
      ...(found.next && { next: `/admin/users?${query}&cursor=${userCursorOf(found.next)}` }),
    };
    return console.send(request, reply, visit, 'console-users', data, { section: 'users' });
  });

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: ConsoleVisit,
    problem?: ConsoleUsersPages['console-user']['problem'],
  ): Promise<FastifyReply> {
    const user = await find(subOf(request));
    const { sub } = user;
    const [sessions, grants, factors] = await Promise.all([
      store.sessions.list({ sub }, { limit: mostCounted, after: undefined }),
      store.grants.list(sub),
      store.secondFactors.list(sub),
    ]);
    const query = new URLSearchParams({ sub });
    return console.send(
      request,
      reply,
      visit,
      'console-user',
      {
        user: {
          ...lineOf(user),
          sub,
          emailVerified: user.emailVerified,
          hasPassword: user.passwordHash !== undefined,
          updatedAt: user.updatedAt,
        },
        claims: Object.entries(user.claims).map(([claim, value]) => ({
          claim,
          value: typeof value === 'string' ? value : JSON.stringify(value),
        })),
        sessions: { count: sessions.length, uri: `/admin/sessions?${new URLSearchParams({ user: sub })}` },
        grants: grants.map(({ clientId, clientName, createdAt }) => ({ clientId, clientName, createdAt })),
        factors: factors.map(({ name, createdAt }) => ({ name, createdAt })),
        form: console.form(request, reply, visit, pathOf(user)),
        deleteUri: `${pathOf(user)}/delete`,
        auditUri: `/admin/audit?${query}`,
        ...(problem && { problem }),
      },
      { section: 'users', status: problem ? 400 : 200 },
    );
  }

  app.get('/admin/users/:sub', async (request, reply) => {
    const visit = await console.enter(request, reply);
    return visit ? show(request, reply, visit) : reply;
  });

  app.post('/admin/users/:sub', async (request, reply) => {
    const path = pathOf({ sub: subOf(request) });
    const body = singleValued(request.body);
    const act = body['act'] ?? '';
    // what only ends what can be begun anew must never wait
    const ends = ['end-sessions', 'withdraw'].includes(act);
    const visit = await console.submitted(request, reply, {
      csrf: body['csrf'],
      action: path,
      back: path,
      fresh: !ends,
    });
    if (!visit) return reply;
    const { by } = visit;
    const { sub } = await find(subOf(request));
    if (act === 'end-sessions') {
      await administration.endSessions(by, sub);
      return console.done(reply, path, 'user-ended');
    }
    if (act === 'withdraw') await administration.withdrawGrant(by, sub, body['client_id'] ?? '');
    else if (act === 'groups') {
      const names = (body['groups'] ?? '').split(/\r?\n/).filter((line) => line.trim() !== '');
      const parsed = names.map((name) => groupName.safeParse(name));
      if (parsed.length > 1000 || parsed.some((name) => !name.success)) return show(request, reply, visit, 'groups');
      await administration.changeUser(by, sub, { groups: [...new Set(parsed.map((name) => name.data!))] });
    } else if (Object.hasOwn(changes, act)) {
      const problem = await lastAdministrator(administration.changeUser(by, sub, changes[act]!));
      if (problem) return show(request, reply, visit, problem);
    } else throw invalidRequest('there is no such act');
    return console.done(reply, path, 'user-saved');
  });

  async function showDeletion(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: ConsoleVisit,
    problem?: ConsoleUsersPages['console-user-delete']['problem'],
  ): Promise<FastifyReply> {
    const user = await find(subOf(request));
    const [sessions, grants] = await Promise.all([
      store.sessions.list({ sub: user.sub }, { limit: mostCounted, after: undefined }),
      store.grants.list(user.sub),
    ]);
    return console.send(
      request,
      reply,
      visit,
      'console-user-delete',
      {
        username: user.username,
        userUri: pathOf(user),
        sessions: sessions.length,
        grants: grants.length,
        form: console.form(request, reply, visit, `${pathOf(user)}/delete`),
        ...(problem && { problem }),
      },
      { section: 'users', status: problem ? 400 : 200 },
    );
  }

  app.get('/admin/users/:sub/delete', async (request, reply) => {
    const visit = await console.enter(request, reply);
    return visit ? showDeletion(request, reply, visit) : reply;
  });

  app.post('/admin/users/:sub/delete', async (request, reply) => {
    const path = `${pathOf({ sub: subOf(request) })}/delete`;
    const body = singleValued(request.body);
    const visit = await console.submitted(request, reply, {
      csrf: body['csrf'],
      action: path,
      back: path,
      fresh: true,
    });
    if (!visit) return reply;
    const user = await find(subOf(request));
    if (body['typed']?.trim() !== user.username) return showDeletion(request, reply, visit, 'typed');
    const problem = await lastAdministrator(administration.deleteUser(visit.by, user.sub));
    if (problem) return showDeletion(request, reply, visit, problem);
    return console.done(reply, '/admin/users', 'user-deleted');
  });
}

/** A text of a filter, as long as a name may be. */
const short = (text: string | undefined) => text?.replaceAll('\0', '').slice(0, 255) || undefined;

/** Says that the last administrator cannot be lost, which is the one conflict of these acts. */
async function lastAdministrator(act: Promise<unknown>): Promise<'last-administrator' | undefined> {
  try {
    await act;
    return undefined;
  } catch (error) {
    if (error instanceof OAuthError && error.status === 409) return 'last-administrator';
    throw error;
  }
}

function lineOf(user: User): UserLine {
  const { name } = user.claims;
  return {
    username: user.username,
    ...(user.email !== undefined && { email: user.email }),
    ...(typeof name === 'string' && { name }),
    disabled: user.status === 'disabled',
    admin: user.admin,
    groups: user.groups,
    createdAt: user.createdAt,
    uri: `/admin/users/${encodeURIComponent(user.sub)}`,
  };
}
