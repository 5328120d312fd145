// The admin routes of users, of their sessions, and of what clients are told when those end.
import { z } from 'zod';
import { logoutDeliveryView, secondFactorView, sessionView, userView } from '../../domain/administrator-views.ts';
import { recoveryUri } from '../../tokens/recovery-uri.ts';
import { isNumber, pageOf, pageShape, readCursor, readUserCursor, userCursorOf } from '../../domain/paging.ts';
import { text } from '../../server/parameters.ts';
import { newUserShape, userChangeShape } from '../../oauth/administration.ts';
import { notFound } from '../../oauth/errors.ts';
import { logoutDeliveryStatuses } from '../../repositories/logout-deliveries/logout-deliveries.ts';
import { newOpaqueToken } from '../../tokens/opaque-token.ts';
import { adminRoute, byId } from './route.ts';

const deliveryFilter = pageShape.extend({
  client_id: text(255).optional(),
  status: z.enum(logoutDeliveryStatuses).optional(),
});
const userFilter = pageShape.extend({
  q: text(255)
    .optional()
    .describe('Beginnings of words of the user name, the email and the names; all have to be there.'),
  group: text(255).optional(),
  status: z.enum(['enabled', 'disabled']).optional(),
  admin: z.enum(['true']).optional(),
  order: z.enum(['newest', 'name']).default('newest'),
});
const bySub = z.object({ sub: text(255) });
const recoveryLink = z.strictObject({
  lifetime: z
    .int()
    .min(1)
    .max(30 * 86_400)
    .optional(),
});
const path = '/admin/api/users';

export const userRoutes = [
  adminRoute({
    method: 'GET',
    path,
    tag: 'users',
    summary: 'Lists users, newest first or by name; those whose names have all of some words, or who are in a group',
    query: userFilter,
    answer: 'UserPage',
    async handle({ store }, { query: { limit, cursor, order, q, group, status, admin } }) {
      const found = await store.userSearch.find(
        { words: q, group, status, admin: admin === 'true' },
        { order, limit, after: readUserCursor(order, cursor) },
      );
      return {
        users: found.users.map(userView),
        ...(found.next && { next_cursor: userCursorOf(found.next) }),
        ...(found.broad && { broad: true }),
      };
    },
  }),
  adminRoute({
    method: 'POST',
    path,
    tag: 'users',
    summary: 'Makes a user; one without a password cannot sign in',
    body: (config) => newUserShape(config.passwordMinLength),
    status: 201,
    answer: 'User',
    async handle({ administration, passwords, passwordPolicy }, { body, by }) {
      if (body.password !== undefined) await passwordPolicy(body.password, body);
      const user = await administration.createUser(by, {
        username: body.username,
        email: body.email,
        emailVerified: body.email_verified,
        passwordHash: body.password === undefined ? undefined : await passwords.hash(body.password),
        groups: body.groups,
        admin: body.admin,
        claims: withoutNulls(body.claims),
      });
      return userView(user);
    },
  }),
  adminRoute({
    method: 'GET',
    path: `${path}/:sub`,
    tag: 'users',
    summary: 'Shows a user',
    params: bySub,
    answer: 'User',
    async handle({ store }, { params: { sub } }) {
      const user = await store.users.find(sub);
      if (!user) throw notFound('there is no such user');
      return userView(user);
    },
  }),
  adminRoute({
    method: 'PATCH',
    path: `${path}/:sub`,
    tag: 'users',
    summary: 'Changes what is sent of a user and leaves the rest; null takes the email or a claim away',
    params: bySub,
    body: (config) => userChangeShape(config.passwordMinLength),
    answer: 'User',
    async handle({ store, administration, passwords, passwordPolicy }, { params: { sub }, body, by }) {
      if (body.password !== undefined)
        await passwordPolicy(body.password, { ...(await store.users.find(sub)), ...body });
      const { user } = await administration.changeUser(
        by,
        sub,
        {
          username: body.username,
          email: body.email,
          emailVerified: body.email_verified,
          groups: body.groups,
          admin: body.admin,
          status: body.status,
          claims: body.claims,
        },
        body.password === undefined ? undefined : await passwords.hash(body.password),
      );
      return userView(user);
    },
  }),
  adminRoute({
    method: 'DELETE',
    path: `${path}/:sub`,
    tag: 'users',
    summary: 'Deletes a user with all that was issued for it',
    params: bySub,
    handle: ({ administration }, { params: { sub }, by }) => administration.deleteUser(by, sub),
  }),
  adminRoute({
    method: 'DELETE',
    path: `${path}/:sub/sign-in-failures`,
    tag: 'users',
    summary: 'Forgets the failed sign-ins of a user, who need not wait any more',
    params: bySub,
    async handle({ administration }, { params: { sub }, by }) {
      await administration.forgetFailures(by, sub);
    },
  }),
  adminRoute({
    method: 'GET',
    path: `${path}/:sub/second-factors`,
    tag: 'users',
    summary: 'Lists the second factors of a user, and says how many recovery codes are left',
    params: bySub,
    answer: 'SecondFactors',
    async handle({ store }, { params: { sub } }) {
      if (!(await store.users.find(sub))) throw notFound('there is no such user');
      const [factors, left] = await Promise.all([store.secondFactors.list(sub), store.recoveryCodes.count(sub)]);
      return { second_factors: factors.map(secondFactorView), recovery_codes: left };
    },
  }),
  adminRoute({
    method: 'DELETE',
    path: `${path}/:sub/second-factors`,
    tag: 'users',
    summary: 'Takes all second factors of a user away, with the recovery codes: for somebody who has lost them',
    params: bySub,
    async handle({ administration }, { params: { sub }, by }) {
      await administration.removeSecondFactor(by, sub);
    },
  }),
  adminRoute({
    method: 'DELETE',
    path: `${path}/:sub/second-factors/:id`,
    tag: 'users',
    summary: 'Takes one second factor of a user away; with the last one the recovery codes go',
    params: bySub.extend({ id: text(100) }),
    async handle({ administration }, { params: { sub, id }, by }) {
      await administration.removeSecondFactor(by, sub, id);
    },
  }),
  adminRoute({
    method: 'POST',
    path: `${path}/:sub/recovery-link`,
    tag: 'users',
    summary: 'Makes a link, shown once, by which a user chooses another password; second factors stay demanded',
    params: bySub,
    body: () => recoveryLink,
    status: 201,
    answer: 'RecoveryLink',
    async handle({ administration, config }, { params: { sub }, body, by }) {
      const { token, hash } = newOpaqueToken('mailed_link');
      const lifetime = body.lifetime ?? config.lifetimes.recoveryLink;
      const expiresAt = await administration.createRecoveryLink(by, sub, hash, lifetime);
      return { recovery_uri: recoveryUri(config.issuer, token), expires_at: expiresAt.toISOString() };
    },
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/api/sessions',
    tag: 'sessions',
    summary: 'Lists the live sessions of browsers, newest first',
    query: pageShape.extend({ sub: text(255).optional() }),
    answer: 'SessionPage',
    async handle({ store }, { query: { limit, cursor, sub } }) {
      const found = await store.sessions.list({ sub }, { limit, after: readCursor(cursor, isNumber) });
      return pageOf('sessions', found, limit, sessionView, (session) => ({ at: session.createdAt, id: session.id }));
    },
  }),
  adminRoute({
    method: 'DELETE',
    path: '/admin/api/sessions/:id',
    tag: 'sessions',
    summary: 'Ends a session with all that came of it, refresh tokens with offline_access included',
    params: byId,
    dangerous: false,
    handle: ({ administration }, { params: { id }, by }) => administration.endSession(by, id),
  }),
  adminRoute({
    method: 'DELETE',
    path: `${path}/:sub/sessions`,
    tag: 'sessions',
    summary: 'Ends all sessions of a user with all that came of them, refresh tokens with offline_access included',
    params: bySub,
    dangerous: false,
    async handle({ administration }, { params: { sub }, by }) {
      await administration.endSessions(by, sub);
    },
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/api/logout-deliveries',
    tag: 'sessions',
    summary:
      'Lists what clients were told or have yet to be told of ended sessions (back-channel logout), newest first',
    query: deliveryFilter,
    answer: 'LogoutDeliveryPage',
    async handle({ store }, { query: { limit, cursor, client_id, status } }) {
      const page = { limit, after: readCursor(cursor, isNumber) };
      const found = await store.logoutDeliveries.list({ clientId: client_id, status }, page);
      return pageOf('logout_deliveries', found, limit, logoutDeliveryView, (item) => ({
        at: item.createdAt,
        id: item.id,
      }));
    },
  }),
];

function withoutNulls(claims: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  return (
    claims && Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null && value !== undefined))
  );
}
