// Serves the console's pages that remove one or all second factors of a user, after a page that names the consequences.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Authenticator, kindOf } from '../../../authenticators/authenticator.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { readParameters } from '../../../server/parameters.ts';
import { text } from '../../../oauth/text.ts';
import { unlessConflict } from '../../../pages/refused-operations.ts';
import { notFound } from '../../../oauth/errors.ts';
import { removeSecondFactors } from '../../operations/pages/users.ts';
import { listFactors } from '../../operations/sign-in-help.ts';
import { showUser } from '../../operations/users.ts';
import { listPath, pathOf } from './view.ts';

const bySub = z.object({ sub: text(255) });
const named = z.object({ id: text(100).optional() });
const sent = named.extend({ csrf: text(100).optional() });

interface FactorRoutesDependencies {
  authenticators: readonly Authenticator[];
  console: Console;
}

export async function userFactorRoutes(
  app: FastifyInstance,
  { authenticators, console }: FactorRoutesDependencies,
): Promise<void> {
  const signsInAlone = authenticators.filter(({ factors }) => factors === 2).map(({ id }) => id);
  const path = `${listPath}/:sub/second-factors/remove`;
  const addressOf = (sub: string) => `${pathOf({ sub })}/second-factors/remove`;
  const subOf = (request: FastifyRequest) => readParameters(bySub, request.params).sub;

  console.page(app, path, (admin, request) => show(admin, subOf(request), readParameters(named, request.query).id), {
    fresh: true,
    needs: removeSecondFactors,
  });

  app.post(path, async (request, reply) => {
    const { csrf, id } = readParameters(sent, request.body);
    const sub = subOf(request);
    const action = addressOf(sub);
    const back = id === undefined ? action : `${action}?${new URLSearchParams({ id })}`;
    const admin = await console.submitted(request, reply, {
      csrf,
      action,
      shown: id ?? '',
      back,
      fresh: true,
      needs: removeSecondFactors,
    });
    if (!admin) return reply;
    const { admin: keepsOne } = await admin.run(showUser, { sub });
    // an administrator keeps at least one method of signing in
    const removed = await unlessConflict(admin.run(removeSecondFactors, { sub, id, keepsOne }));
    return removed === 'conflict'
      ? show(admin, sub, id, 'only-way')
      : admin.done(pathOf({ sub }), 'user-factor-removed');
  });

  async function show(
    admin: AdminSession,
    sub: string,
    id: string | undefined,
    problem?: 'only-way',
  ): Promise<FastifyReply> {
    const { user, factors: all, recoveryCodes } = await admin.run(listFactors, { sub });
    const gone = id === undefined ? all : all.filter((factor) => factor.id === id);
    if (gone.length === 0) throw notFound('there is no such second factor');
    const left = all.filter((factor) => !gone.includes(factor));
    const form = admin.form(addressOf(sub), id ?? '');
    if (id !== undefined) form.hidden['id'] = id;
    return admin.send(
      'console-user-factors-remove',
      {
        username: user.username,
        userUri: pathOf(user),
        passwordUri: `${pathOf(user)}/password`,
        factors: gone.map((factor) => ({ kind: kindOf(authenticators, factor), name: factor.name })),
        left: left.length,
        recoveryCodes: left.length > 0 ? 0 : recoveryCodes,
        shutOut: user.passwordHash === undefined && !left.some(({ kind }) => signsInAlone.includes(kind)),
        form,
        ...(problem && { problem }),
      },
      { section: 'users', status: problem ? 409 : 200 },
    );
  }
}
