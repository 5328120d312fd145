// Serves the console's pages that disable or delete a user, and grant or remove the administrator role, after a page that names the consequences.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { text } from '../../../oauth/text.ts';
import type { ConsoleUsersPages } from '../../../pages/views/console-users.ts';
import { readParameters } from '../../../server/parameters.ts';
import { maxCounted, userEnd } from '../../operations/pages/users.ts';
import { changeUser, deleteUser, showUser } from '../../operations/users.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { refusedView } from '../refused.ts';
import { isTypedName } from '../typed-name.ts';
import { listPath, pathOf } from './view.ts';

type ConfirmPage = ConsoleUsersPages['console-user-confirm'];

const bySub = z.object({ sub: text(255) });
const sent = z.object({ csrf: text(100).optional(), typed: text(255).optional() });
const changes = {
  disable: { status: 'disabled' },
  'make-admin': { admin: true },
  'no-admin': { admin: false },
} as const;
/** The operations that cannot be undone, or give away the whole service: they ask for the user name. */
const askForName: readonly ConfirmPage['operation'][] = ['make-admin', 'delete'];

interface ConfirmRoutesDependencies {
  console: Console;
}

export async function userConfirmRoutes(app: FastifyInstance, { console }: ConfirmRoutesDependencies): Promise<void> {
  for (const operation of ['disable', 'make-admin', 'no-admin', 'delete'] as const) {
    const asksName = askForName.includes(operation);

    const needs = operation === 'delete' ? deleteUser : changeUser;
    console.page(
      app,
      `${listPath}/:sub/${operation}`,
      (admin, request) => ask(admin, operation, readParameters(bySub, request.params).sub),
      { needs },
    );

    app.post(`${listPath}/:sub/${operation}`, async (request, reply) => {
      const { sub } = readParameters(bySub, request.params);
      const { csrf, typed } = readParameters(sent, request.body);
      const action = `${pathOf({ sub })}/${operation}`;
      const admin = await console.submitted(request, reply, { csrf, action, back: action, fresh: true, needs });
      if (!admin) return reply;
      const { username } = await admin.run(showUser, { sub });
      if (asksName && !isTypedName(typed, username)) return ask(admin, operation, sub, { typed, problem: 'typed' });
      const result =
        operation === 'delete'
          ? await admin.perform(deleteUser, { sub })
          : await admin.perform(changeUser, { sub }, changes[operation]);
      if ('refused' in result) return ask(admin, operation, sub, { typed, refused: refusedView(result.refused, []) });
      return operation === 'delete'
        ? admin.done(listPath, 'user-deleted')
        : admin.done(pathOf({ sub }), operation === 'disable' ? 'user-disabled' : 'user-saved');
    });
  }

  async function ask(
    admin: AdminSession,
    operation: ConfirmPage['operation'],
    sub: string,
    { typed = '', problem, refused }: { typed?: string | undefined } & Pick<ConfirmPage, 'problem' | 'refused'> = {},
  ): Promise<FastifyReply> {
    const { user, sessions, grants } = await admin.run(userEnd, sub);
    return admin.send(
      'console-user-confirm',
      {
        operation,
        username: user.username,
        userUri: pathOf(user),
        ...(refused?.code === 'links.undecided' && { connectionsUri: `${pathOf(user)}/connections` }),
        sessions,
        grants,
        most: maxCounted,
        form: admin.form(`${pathOf(user)}/${operation}`),
        ...(askForName.includes(operation) && { typed }),
        ...(problem && { problem }),
        ...(refused && { refused }),
      },
      { section: 'users', status: problem || refused ? 400 : 200 },
    );
  }
}
