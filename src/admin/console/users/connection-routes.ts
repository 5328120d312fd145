// Serves the console's page about the connections of a user: the links, their removal, and the exception from an enforced domain.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { invalidRequest } from '../../../oauth/errors.ts';
import { text } from '../../../oauth/text.ts';
import { isUnasked } from '../../../repositories/connections/linked-identities.ts';
import { readParameters } from '../../../server/parameters.ts';
import { keepLink, markBreakGlass, unlinkUser } from '../../operations/connections.ts';
import { userConnections } from '../../operations/pages/users.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { listPath, pathOf } from './view.ts';

const bySub = z.object({ sub: text(255) });
const sent = z.object({
  csrf: text(100).optional(),
  act: z.enum(['keep', 'remove', 'mark', 'unmark']).optional(),
  connection: text(40).optional(),
});

interface ConnectionRoutesDependencies {
  console: Console;
}

export async function userConnectionRoutes(
  app: FastifyInstance,
  { console }: ConnectionRoutesDependencies,
): Promise<void> {
  const path = `${listPath}/:sub/connections`;
  const addressOf = (sub: string) => `${pathOf({ sub })}/connections`;
  const subOf = (request: FastifyRequest) => readParameters(bySub, request.params).sub;

  console.page(app, path, (admin, request) => show(admin, subOf(request)), { needs: userConnections });

  app.post(path, async (request, reply) => {
    const { csrf, act, connection = '' } = readParameters(sent, request.body);
    const sub = subOf(request);
    const action = addressOf(sub);
    const admin = await console.submitted(request, reply, {
      csrf,
      action,
      back: action,
      fresh: true,
      needs: unlinkUser,
    });
    if (!admin) return reply;
    if (act === 'remove') await admin.run(unlinkUser, { sub, connection });
    else if (act === 'keep') await admin.run(keepLink, { sub, connection });
    else if (act !== undefined) await admin.run(markBreakGlass, { sub }, { marked: act === 'mark' });
    else throw invalidRequest('there is no such action');
    return admin.done(action, act === 'remove' ? 'user-link-removed' : 'user-saved');
  });

  async function show(admin: AdminSession, sub: string): Promise<FastifyReply> {
    const { user, links, connections, passkeys, breakGlass } = await admin.run(userConnections, sub);
    const open = links.filter((link) =>
      connections.some(({ id, status }) => id === link.connectionId && status === 'enabled'),
    );
    const isElsewhere = user.passwordHash === undefined && passkeys.length === 0;
    return admin.send(
      'console-user-connections',
      {
        username: user.username,
        userUri: pathOf(user),
        breakGlass,
        links: links.map((link) => ({
          connection: link.connectionId,
          name: connections.find(({ id }) => id === link.connectionId)?.displayName ?? link.connectionId,
          uri: `/admin/connections/${link.connectionId}`,
          subject: link.subject,
          since: link.createdAt,
          ...(link.lastUsedAt && { usedAt: link.lastUsedAt }),
          unasked: isUnasked(link),
          // the last way to sign in (federation FR8)
          only: isElsewhere && !open.some((other) => other.connectionId !== link.connectionId),
        })),
        form: admin.form(addressOf(sub)),
      },
      { section: 'users' },
    );
  }
}
