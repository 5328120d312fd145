// Serves GET|POST /admin/sessions and GET|POST /admin/sessions/end: lists sessions, ends one, or ends all of one user.
import { isIP } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { browserName } from '../../../domain/sessions/browser-name.ts';
import { clientLink, userLink } from '../linked-names.ts';
import { cursorOf, isNumber, readCursor } from '../../../domain/administration/paging.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
import { text } from '../../../oauth/text.ts';
import { unlessGone } from '../../../pages/refused-operations.ts';
import type { LinkedName } from '../../../pages/views/console-operations.ts';
import type { ConsoleFrame, Pages } from '../../../pages/views/index.ts';
import { endSession, endSessions } from '../../operations/sessions.ts';
import { findSessions, sessionsOfUser, userOfSessions } from '../../operations/pages/service.ts';
import { queryOf } from '../links.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { isTypedName } from '../typed-name.ts';

const limit = 50;
/** The maximum to which the sessions of a user are counted. */
const maxCounted = 1000;
const endOne = z.object({ csrf: text(100), end: text(255), user: text(320).optional(), address: text(64).optional() });
const endAll = z.object({ csrf: text(100), sub: text(255), typed: text(320).optional() });

interface SessionRoutesDependencies {
  console: Console;
}

export async function sessionRoutes(app: FastifyInstance, { console }: SessionRoutesDependencies): Promise<void> {
  const list = '/admin/sessions';
  const confirmation = '/admin/sessions/end';
  const section = 'sessions';

  const showList = async (admin: AdminSession, request: FastifyRequest) => {
    const { sub, user: typedUser = '', address: typedAddress = '', cursor } = singleValued(request.query);
    const typed = { user: typedUser.trim().slice(0, 320), address: typedAddress.trim().slice(0, 64) };
    // a link names a user by sub alone: no name is read there (security R153)
    const filter = {
      sub,
      user: sub === undefined ? typed.user || undefined : undefined,
      address: typed.address || undefined,
    };
    const after = readCursor(cursor, isNumber);
    const named = await admin.run(userOfSessions, { sub, typed: filter.user });
    const person = typeof named === 'object' ? named : undefined;
    const isNoAddress = filter.address !== undefined && isIP(filter.address) === 0;
    const fault: Pages['console-sessions']['fault'] =
      named === 'unknown' ? 'user' : named === 'several' ? named : isNoAddress ? 'address' : undefined;
    const found = fault
      ? []
      : await admin.run(findSessions, {
          filter: { sub: person?.sub, address: filter.address },
          page: { limit, after },
        });
    const last = found.length === limit ? found.at(-1) : undefined;
    const data: Omit<Pages['console-sessions'], keyof ConsoleFrame> = {
      sessions: found.map((session) => ({
        id: session.sid,
        user: userLink(session.sub, session.username),
        signedInAt: session.authTime,
        usedAt: session.usedAt,
        ...(session.remembered && { until: session.expiresAt }),
        own: session.sid === admin.session.sid,
        clients: session.clients.map(({ clientId, clientName }): LinkedName => clientLink(clientId, clientName)),
        ...(session.address !== undefined && { address: session.address }),
        ...optional('browser', browserName(session.userAgent)),
        ...optional('browserName', session.browserName),
      })),
      form: admin.form(list),
      ...optional('user', sub === undefined ? filter.user : (person?.username ?? sub)),
      ...optional('address', filter.address),
      ...(fault && { fault }),
      ...(after && { firstUri: list + queryOf(filter) }),
      ...(last && { nextUri: list + queryOf({ ...filter, cursor: cursorOf({ at: last.createdAt, id: last.id }) }) }),
      ...(person && found.length > 0 && { endAllUri: confirmation + queryOf({ sub: person.sub }) }),
    };
    return admin.send('console-sessions', data, { section, status: fault ? 400 : 200 });
  };

  console.page(app, list, showList, { needs: findSessions });

  // an operation that only ends a session must never wait for a new sign-in
  app.post(list, async (request, reply) => {
    const { csrf, end, user, address } = readParameters(endOne, request.body);
    const admin = await console.submitted(request, reply, { csrf, action: list, back: list, needs: endSession });
    if (!admin) return reply;
    // the session may have ended already
    await admin.run(endSession, { id: end }).catch(unlessGone);
    return admin.done(list + queryOf({ user: user || undefined, address: address || undefined }), 'session-ended');
  });

  console.page(app, confirmation, (admin, request) => confirm(admin, singleValued(request.query)['sub'] ?? ''), {
    needs: endSessions,
  });

  async function confirm(admin: AdminSession, sub: string, typed?: string): Promise<FastifyReply> {
    const { user: person, sessions: found } = await admin.run(sessionsOfUser, { sub, limit: maxCounted + 1 });
    return admin.send(
      'console-sessions-end',
      {
        user: userLink(sub, person.username),
        sessions: Math.min(found.length, maxCounted),
        more: found.length > maxCounted,
        own: sub === admin.session.user.sub,
        form: withField(admin.form(confirmation, sub), 'sub', sub),
        backUri: list + queryOf({ sub }),
        ...(typed !== undefined && { typed, problem: 'typed' as const }),
      },
      { section, status: typed === undefined ? 200 : 400 },
    );
  }

  app.post(confirmation, async (request, reply) => {
    const { csrf, sub, typed = '' } = readParameters(endAll, request.body);
    const back = confirmation + queryOf({ sub });
    const admin = await console.submitted(request, reply, {
      csrf,
      action: confirmation,
      shown: sub,
      back,
      needs: endSessions,
    });
    if (!admin) return reply;
    // a name, and no new sign-in, for which ending sessions must never wait
    const { user } = await admin.run(sessionsOfUser, { sub, limit: 1 });
    if (!isTypedName(typed, user.username)) return confirm(admin, sub, typed);
    await admin.run(endSessions, { sub });
    return admin.done(list, 'sessions-ended');
  });
}

function withField<F extends { hidden: Record<string, string> }>(form: F, name: string, value: string): F {
  return { ...form, hidden: { ...form.hidden, [name]: value } };
}

function optional<N extends string, V>(name: N, value: V | undefined): Partial<Record<N, V>> {
  return (value === undefined ? {} : { [name]: value }) as Partial<Record<N, V>>;
}
