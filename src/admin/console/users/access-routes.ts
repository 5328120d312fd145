// Serves GET /admin/users/{sub}/access, which says whether a user may use a client now, and why not.
import { isIP } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { singleValued } from '../../../server/parameters.ts';
import { clientNamed } from '../../operations/pages/clients.ts';
import { showUserAccess } from '../../operations/user-access.ts';
import { showUser } from '../../operations/users.ts';
import { checkedAccess } from '../access-view.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { pathOf } from './view.ts';

export async function userAccessRoutes(app: FastifyInstance, { console }: { console: Console }): Promise<void> {
  const show = async (admin: AdminSession, request: FastifyRequest) => {
    const { sub = '' } = singleValued(request.params);
    const given = singleValued(request.query);
    const [client = '', address = ''] = ['client', 'address'].map((name) =>
      given[name]?.replaceAll('\0', '').trim().slice(0, 255),
    );
    const user = await admin.run(showUser, { sub });
    const found = client === '' ? undefined : await admin.run(clientNamed, client);
    const problem = address !== '' && isIP(address) === 0 ? 'address' : typeof found === 'string' ? found : undefined;
    const isChecked = found !== undefined && typeof found !== 'string' && problem === undefined;
    return admin.send(
      'console-user-access',
      {
        username: user.username,
        userUri: pathOf(user),
        uri: `${pathOf(user)}/access`,
        typed: { client, address },
        ...(problem && { problem }),
        ...(isChecked && { check: await checkedAccess(admin, sub, found.clientId, address || undefined) }),
      },
      { section: 'users', status: problem ? 400 : 200 },
    );
  };

  console.page(app, '/admin/users/:sub/access', show, { needs: showUserAccess });
}
