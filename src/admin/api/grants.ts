// The admin routes of what users granted to clients: an administrator withdraws for them (decisions section 3).
import { z } from 'zod';
import { grantView } from '../../domain/administrator-views.ts';
import { pageOf, pageShape, readCursor } from '../../domain/paging.ts';
import { text } from '../../server/parameters.ts';
import { notFound } from '../../oauth/errors.ts';
import { adminRoute } from './route.ts';

const bySub = z.object({ sub: text(255) });
const path = '/admin/api/users/:sub/grants';
const tag = 'grants';

export const grantRoutes = [
  adminRoute({
    method: 'GET',
    path,
    tag,
    summary: 'Lists what a user granted to clients, newest first',
    params: bySub,
    query: pageShape,
    answer: 'GrantPage',
    async handle({ store }, { params: { sub }, query: { limit, cursor } }) {
      if (!(await store.users.find(sub))) throw notFound('there is no such user');
      const found = await store.grants.list(sub, { limit, after: readCursor(cursor) });
      return pageOf('grants', found, limit, grantView, (grant) => ({ at: grant.createdAt, id: grant.clientId }));
    },
  }),
  adminRoute({
    method: 'DELETE',
    path: `${path}/:client_id`,
    tag,
    summary: 'Withdraws what a user granted to a client and ends all that was issued for it',
    params: bySub.extend({ client_id: text(255) }),
    dangerous: false,
    handle: ({ administration }, { params: { sub, client_id: clientId }, by }) =>
      administration.withdrawGrant(by, sub, clientId),
  }),
];
