// Serves /login/name, where a user chooses the name of the account that an identity is given.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { onlyNavigation } from '../../browser/session.ts';
import { countLinkRequest } from '../../interaction/mailed-link.ts';
import { readParameters, textFields } from '../../server/parameters.ts';
import { byOf, contextOf, type LoginConnectionsDependencies, namePath, shownOf } from './login-connections.ts';
import type { Decide } from './outcome.ts';
import type { ConnectionProblems } from './problem.ts';

const nameForm = textFields({ csrf: 100, username: 1000 });

export function chooseNameRoutes(
  app: FastifyInstance,
  options: LoginConnectionsDependencies,
  { problem }: ConnectionProblems,
  decide: Decide,
): void {
  const { store, sessions, signIn, rememberedRequests, pages, connectionSteps: steps, linkIdentity } = options;

  app.get(namePath, async (request, reply) => {
    onlyNavigation(request);
    return showName(request, reply, undefined, undefined);
  });

  app.post(namePath, async (request, reply) => {
    const { csrf, username = '' } = readParameters(nameForm, request.body);
    const waiting = await steps.waiting(request, 'name');
    if (!waiting) {
      const next = await signIn.repeat(request, reply, (await rememberedRequests.recall(request)) ?? {});
      return next === undefined ? problem(request, reply, undefined, 'expired', {}) : pages.redirect(reply, next);
    }
    const { content, connectionId } = waiting;
    if (!sessions.isOwnForm(request, csrf, { action: namePath, shown: shownOf(content) }))
      return showName(request, reply, username, undefined);
    // a step must not allow unlimited tries of names (security R154)
    const wait = await countLinkRequest(options.limits, request);
    if (wait > 0) {
      reply.header('retry-after', String(wait));
      return showName(request, reply, username, 'throttled');
    }
    const outcome = await linkIdentity(connectionId, content.identity, {
      purpose: 'sign-in',
      username: username.trim(),
      by: byOf(request),
    });
    if (outcome.outcome === 'name') return showName(request, reply, username, outcome.taken ? 'taken' : 'unusable');
    await steps.finish(request, reply, 'name');
    return decide(request, reply, connectionId, content, outcome);
  });

  async function showName(
    request: FastifyRequest,
    reply: FastifyReply,
    typed: string | undefined,
    fault: 'taken' | 'unusable' | 'throttled' | undefined,
  ): Promise<FastifyReply> {
    const waiting = await steps.waiting(request, 'name');
    if (!waiting) return problem(request, reply, undefined, 'expired', {});
    const { content, connectionId } = waiting;
    const connection = await store.connections.find(connectionId);
    const { pending } = await contextOf(options, request, reply, content.transaction);
    const csrf = sessions.formToken(request, reply, { action: namePath, shown: shownOf(content) });
    return pages.send(
      request,
      reply,
      'login-name',
      {
        name: connection?.displayName ?? connectionId,
        ...(pending?.client && { client: pending.client }),
        form: { action: namePath, hidden: { csrf } },
        username: typed ?? '',
        ...(fault && { fault }),
      },
      { status: fault === 'throttled' ? 429 : fault ? 400 : 200, uiLocales: pending?.uiLocales, here: namePath },
    );
  }
}
