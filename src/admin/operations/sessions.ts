// Declares the operations on browser sessions, and on the logout tokens that notify clients of their end.
import { maxClientId } from '../../oauth/client-document.ts';
import { z } from 'zod';
import { logoutDeliveryView, sessionView } from '../../domain/administration/administrator-views.ts';
import { browserName } from '../../domain/sessions/browser-name.ts';
import { isNumber, pageOf, pageShape, readCursor } from '../../domain/administration/paging.ts';
import { text } from '../../oauth/text.ts';
import { logoutDeliveryStatuses } from '../../repositories/logout-deliveries/logout-deliveries.ts';
import { byId, bySub, operation } from './operation.ts';
import { table } from './text-table.ts';

const section = { permission: 'sessions', tag: 'sessions' } as const;

const listSessions = operation({
  method: 'GET',
  path: '/admin/api/sessions',
  ...section,
  summary: 'Lists the active sessions of browsers, newest first',
  input: () => pageShape.extend({ sub: text(255).optional().describe('Only sessions of this user.') }),
  answer: 'SessionPage',
  async handler({ store }, { input: { limit, cursor, sub } }) {
    return { limit, sessions: await store.sessions.list({ sub }, { limit, after: readCursor(cursor, isNumber) }) };
  },
  view: ({ limit, sessions }) =>
    pageOf('sessions', sessions, limit, sessionView, (session) => ({ at: session.createdAt, id: session.id })),
  command: {
    name: 'session list',
    options: { user: 'sub', limit: 'limit' },
    text: ({ sessions }) =>
      table(
        ['ID', 'USERNAME', 'SIGNED IN', 'USED', 'ADDRESS', 'BROWSER', 'CLIENTS'],
        sessions.map((session) => [
          session.sid,
          session.username,
          session.authTime.toISOString(),
          session.usedAt.toISOString(),
          session.address ?? '',
          browserName(session.userAgent) ?? '',
          session.clients.map(({ clientName }) => clientName).join(', '),
        ]),
      ),
    json: ({ sessions }) => sessions.map(sessionView),
  },
});

export const endSession = operation({
  method: 'DELETE',
  path: '/admin/api/sessions/:id',
  ...section,
  summary: 'Ends a session and everything that was issued in it, including refresh tokens with offline_access',
  params: byId,
  needsRecentSignIn: false,
  handler: ({ administration }, { params: { id }, actor }) => administration.endSession(actor, id),
  command: {
    name: 'session end',
    text: (_, { params: { id } }) => `Ended the session ${id} with all tokens that were issued in it.`,
    json: (_, { params: { id } }) => ({ id }),
  },
});

export const endSessions = operation({
  method: 'DELETE',
  path: '/admin/api/users/:sub/sessions',
  ...section,
  summary:
    'Ends all sessions of a user and everything that was issued in them, including refresh tokens with offline_access',
  params: bySub,
  needsRecentSignIn: false,
  answer: 'EndedAccess',
  handler: ({ administration }, { params: { sub }, actor }) => administration.endSessions(actor, sub),
  command: {
    name: 'session end-all',
    text: ({ sessions }, { typed }) =>
      `Ended sessions of ${typed['sub']}: ${sessions}, with all tokens that were issued in them.`,
    json: (ended, { params: { sub } }) => ({ sub, ...ended }),
  },
});

const listLogoutDeliveries = operation({
  method: 'GET',
  path: '/admin/api/logout-deliveries',
  ...section,
  summary: 'Lists the notifications to clients about ended sessions (back-channel logout), newest first',
  input: () =>
    pageShape.extend({
      client_id: text(maxClientId).optional().describe('Only deliveries to this client.'),
      status: z.enum(logoutDeliveryStatuses).optional().describe('Only deliveries with this status.'),
    }),
  answer: 'LogoutDeliveryPage',
  async handler({ store }, { input: { limit, cursor, client_id: clientId, status } }) {
    const page = { limit, after: readCursor(cursor, isNumber) };
    return { limit, deliveries: await store.logoutDeliveries.list({ clientId, status }, page) };
  },
  view: ({ limit, deliveries }) =>
    pageOf('logout_deliveries', deliveries, limit, logoutDeliveryView, (delivery) => ({
      at: delivery.createdAt,
      id: delivery.id,
    })),
  command: {
    name: 'logout-delivery list',
    options: { client: 'client_id', status: 'status', limit: 'limit' },
    limit: 50,
    text: ({ deliveries }) =>
      table(
        ['CREATED', 'CLIENT', 'SUB', 'STATUS', 'ATTEMPTS', 'NEXT ATTEMPT', 'LAST FAILURE'],
        deliveries.map((delivery) => [
          delivery.createdAt.toISOString(),
          delivery.clientId,
          delivery.sub,
          delivery.status,
          String(delivery.attempts),
          delivery.nextAttemptAt?.toISOString() ?? '',
          delivery.lastFailure ?? '',
        ]),
      ),
    json: ({ deliveries }) => deliveries.map(logoutDeliveryView),
  },
});

export const sessionOperations = [listSessions, endSession, endSessions, listLogoutDeliveries];
