// Serves the console's pages that remove one or all second factors of a user, after a page that names the consequences.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Authenticator, kindOf } from '../../../authenticators/authenticator.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { readParameters } from '../../../server/parameters.ts';
import { text } from '../../../oauth/text.ts';
import { unlessConflict } from '../../../pages/refused-operations.ts';
import { notFound } from '../../../oauth/errors.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { findUser } from '../../operations/users.ts';
import { listPath, pathOf } from './view.ts';
import type { Store } from '../../../repositories/store.ts';

const bySub = z.object({ sub: text(255) });
const named = z.object({ id: text(100).optional() });
const sent = named.extend({ csrf: text(100).optional() });

interface FactorRoutesDependencies {
  store: Store;
  authenticators: readonly Authenticator[];
  console: Console;
  operationContext: OperationContext;
}

export async function userFactorRoutes(
  app: FastifyInstance,
  { store, authenticators, console, operationContext }: FactorRoutesDependencies,
): Promise<void> {
  const { administration } = operationContext;
  const signsInAlone = authenticators.filter(({ factors }) => factors === 2).map(({ id }) => id);
  const path = `${listPath}/:sub/second-factors/remove`;
  const addressOf = (sub: string) => `${pathOf({ sub })}/second-factors/remove`;
  const subOf = (request: FastifyRequest) => readParameters(bySub, request.params).sub;

  console.page(app, path, (admin, request) => show(admin, subOf(request), readParameters(named, request.query).id), {
    fresh: true,
  });

  app.post(path, async (request, reply) => {
    const { csrf, id } = readParameters(sent, request.body);
    const sub = subOf(request);
    const action = addressOf(sub);
    const back = id === undefined ? action : `${action}?${new URLSearchParams({ id })}`;
    const admin = await console.submitted(request, reply, { csrf, action, shown: id ?? '', back, fresh: true });
    if (!admin) return reply;
    const user = await findUser(store, sub);
    // an administrator keeps at least one method of signing in
    const removed = await unlessConflict(administration.removeSecondFactor(admin.by, sub, id, user.admin));
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
    const user = await findUser(store, sub);
    const all = await store.secondFactors.list(sub);
    const gone = id === undefined ? all : all.filter((factor) => factor.id === id);
    if (gone.length === 0) throw notFound('there is no such second factor');
    const left = all.filter((factor) => !gone.includes(factor));
    const form = admin.form(addressOf(sub), id ?? '');
    if (id !== undefined) form.hidden['id'] = id;
    return admin.send(
      'console-user-factors-remove',
      {
        ...{ username: user.username, userUri: pathOf(user), passwordUri: `${pathOf(user)}/password` },
        factors: gone.map((factor) => ({ kind: kindOf(authenticators, factor), name: factor.name })),
        left: left.length,
        recoveryCodes: left.length > 0 ? 0 : await store.recoveryCodes.count(sub),
        shutOut: user.passwordHash === undefined && !left.some(({ kind }) => signsInAlone.includes(kind)),
        form,
        ...(problem && { problem }),
      },
      { section: 'users', status: problem ? 409 : 200 },
    );
  }
}
