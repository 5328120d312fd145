// Declares the operations on the grants of users to clients, which an administrator can withdraw (decisions section 3).
import { maxClientId } from '../../oauth/client-document.ts';
import { grantView } from '../../domain/administration/administrator-views.ts';
import { pageOf, pageShape, readCursor } from '../../domain/administration/paging.ts';
import { text } from '../../oauth/text.ts';
import { bySub, operation } from './operation.ts';
import { table } from './text-table.ts';
import { findUser } from './users.ts';

const path = '/admin/api/users/:sub/grants';
const section = { permission: 'users', tag: 'grants' } as const;

const listGrants = operation({
  method: 'GET',
  path,
  ...section,
  summary: 'Lists the grants of a user to clients, newest first',
  params: bySub,
  input: () => pageShape,
  answer: 'GrantPage',
  async handler({ store }, { params: { sub }, input: { limit, cursor } }) {
    await findUser(store, sub);
    return { limit, grants: await store.grants.list(sub, { limit, after: readCursor(cursor) }) };
  },
  view: ({ limit, grants }) =>
    pageOf('grants', grants, limit, grantView, (grant) => ({ at: grant.createdAt, id: grant.clientId })),
  command: {
    name: 'grant list',
    text: ({ grants }) =>
      table(
        ['CLIENT_ID', 'SINCE', 'SCOPE', 'NAME'],
        grants.map((grant) => [grant.clientId, grant.createdAt.toISOString(), grant.scope.join(' '), grant.clientName]),
      ),
    json: ({ grants }) => grants.map(grantView),
  },
});

export const withdrawGrant = operation({
  method: 'DELETE',
  path: `${path}/:client_id`,
  ...section,
  summary: 'Revokes the grant of a user to a client and ends everything that was issued for it',
  params: bySub.extend({ client_id: text(maxClientId) }),
  needsRecentSignIn: false,
  handler: ({ administration }, { params: { sub, client_id: clientId }, actor }) =>
    administration.withdrawGrant(actor, sub, clientId),
  command: {
    name: 'grant withdraw',
    text: (_, { typed, params }) =>
      `Revoked the grant of ${typed['sub']} to the client ${params.client_id}; all tokens that were issued for it have ended.`,
    json: (_, { params }) => ({ ...params }),
  },
});

export const grantOperations = [listGrants, withdrawGrant];
