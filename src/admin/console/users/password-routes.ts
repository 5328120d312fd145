// Serves the console's pages that make a link by which a user chooses a password, or that set a password.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { AdminSession, Console } from '../admin-session.ts';
import { createPasswordChoice } from '../../../domain/passwords/password-choice.ts';
import { readParameters } from '../../../server/parameters.ts';
import { text } from '../../../oauth/text.ts';
import type { ConsoleUsersPages } from '../../../pages/views/console-users.ts';
import { maxPasswordLength } from '../../../rules/users/administration.ts';
import { invalidRequest } from '../../../oauth/errors.ts';
import { changeTypedUser } from '../../operations/pages/users.ts';
import { createRecoveryLink } from '../../operations/sign-in-help.ts';
import { showUser } from '../../operations/users.ts';
import type { User } from '../../../repositories/users/users.ts';
import { listPath, pathOf } from './view.ts';
import type { Config } from '../../../config.ts';
import type { PasswordQueue } from '../../../domain/rate-limits/password-queue.ts';
import type { PasswordPolicy } from '../../../domain/passwords/password-policy.ts';

const bySub = z.object({ sub: text(255) });
const sent = z.object({
  csrf: text(100).optional(),
  act: z.enum(['link', 'set']),
  lifetime: z
    .string()
    .regex(/^\d{1,7}$/)
    .optional(),
  new_password: text(4096).optional(),
});

interface PasswordRoutesDependencies {
  config: Config;
  passwords: PasswordQueue;
  passwordPolicy: PasswordPolicy;
  console: Console;
}

export async function userPasswordRoutes(app: FastifyInstance, options: PasswordRoutesDependencies): Promise<void> {
  const { console, config } = options;
  const passwords = createPasswordChoice(options);
  const subOf = (request: FastifyRequest) => readParameters(bySub, request.params).sub;
  const lifetimes = [...new Set([3600, 86_400, 7 * 86_400, config.lifetimes.recoveryLink])].sort((a, b) => a - b);

  console.page(
    app,
    `${listPath}/:sub/password`,
    async (admin, request) => show(admin, await admin.run(showUser, { sub: subOf(request) })),
    { fresh: true, needs: createRecoveryLink },
  );

  app.post(`${listPath}/:sub/password`, async (request, reply) => {
    const { csrf, act, lifetime, new_password: chosen } = readParameters(sent, request.body);
    const sub = subOf(request);
    const action = `${pathOf({ sub })}/password`;
    const admin = await console.submitted(request, reply, {
      csrf,
      action,
      back: action,
      fresh: true,
      needs: createRecoveryLink,
    });
    if (!admin) return reply;
    const user = await admin.run(showUser, { sub });
    if (act === 'link') {
      const seconds = lifetime === undefined ? config.lifetimes.recoveryLink : Number(lifetime);
      if (!lifetimes.includes(seconds)) throw invalidRequest('there is no such lifetime');
      return showLink(admin, user, seconds);
    }
    const fault = await passwords.faultOf(chosen, user);
    if (fault) return show(admin, user, { fault, status: 400 });
    const passwordHash = await passwords.hash(chosen!);
    if (passwordHash === undefined) {
      reply.header('retry-after', '5');
      return show(admin, user, { problem: 'busy', status: 503 });
    }
    await admin.run(changeTypedUser, { sub, change: {}, passwordHash });
    return admin.done(pathOf(user), 'user-password-set');
  });

  /** Makes a link by which a user chooses a password, and shows it once. @param lifetime in seconds */
  async function showLink(admin: AdminSession, user: User, lifetime: number): Promise<FastifyReply> {
    const link = await admin.once<{ uri: string; until: number }>(async () => {
      const made = await admin.perform(createRecoveryLink, { sub: user.sub }, { lifetime });
      if ('refused' in made) return { refused: () => show(admin, { ...user, status: 'disabled' }, { status: 409 }) };
      const { recoveryUri: uri, expiresAt } = made.done;
      return { uri, until: expiresAt.getTime() };
    });
    if ('refused' in link) return link.refused();
    const { uri, until } = link;
    const shown = { username: user.username, userUri: pathOf(user), of: 'password', uri, lifetime } as const;
    return admin.send('console-user-link', { ...shown, expiresAt: new Date(until) }, { section: 'users' });
  }

  function show(
    admin: AdminSession,
    user: User,
    {
      status = 200,
      ...trouble
    }: Pick<ConsoleUsersPages['console-user-password'], 'fault' | 'problem'> & {
      status?: number;
    } = {},
  ): FastifyReply {
    return admin.send(
      'console-user-password',
      {
        username: user.username,
        userUri: pathOf(user),
        disabled: user.status === 'disabled',
        form: admin.repeatableForm(`${pathOf(user)}/password`),
        lifetimes,
        lifetime: config.lifetimes.recoveryLink,
        least: config.passwordMinLength,
        most: maxPasswordLength,
        ...trouble,
      },
      { section: 'users', status },
    );
  }
}
