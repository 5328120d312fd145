// Serves /login/name, where a user chooses the user name of the new account for an identity.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { withDates } from '../../authenticators/connection/steps.ts';
import type { Refused } from '../../browser/form-outcomes.ts';
import { onlyNavigation } from '../../browser/session.ts';
import { countLinkRequest } from '../../interaction/mailed-link.ts';
import { readParameters, textFields } from '../../server/parameters.ts';
import { byOf, contextOf, type LoginConnectionsDependencies, namePath, shownOf } from './login-connections.ts';
import type { createDecide, StepOutcome } from './outcome.ts';
import type { ConnectionProblems } from './problem.ts';

const nameForm = textFields({ csrf: 100, username: 1000 });

export function chooseNameRoutes(
  app: FastifyInstance,
  options: LoginConnectionsDependencies,
  { problem }: ConnectionProblems,
  { decide, repeat }: ReturnType<typeof createDecide>,
): void {
  const { store, sessions, formOutcomes, pages, connectionSteps: steps, linkIdentity } = options;

  app.get(namePath, async (request, reply) => {
    onlyNavigation(request);
    return showName(request, reply, undefined, undefined);
  });

  app.post(namePath, async (request, reply) => {
    const mayAct = (await steps.waiting(request, 'name')) !== undefined;
    const result = await formOutcomes.once(request, () => name(request, reply), mayAct);
    if ('refused' in result) return result.refused();
    const { made, again } = result;
    if (again) return repeat(request, reply, { ...made, content: withDates(made.content) });
    return decide(request, reply, made.connectionId, made.content, made.outcome);
  });

  /** Makes the account with the name that the user chose. */
  async function name(request: FastifyRequest, reply: FastifyReply): Promise<StepOutcome | Refused> {
    const { csrf, username = '' } = readParameters(nameForm, request.body);
    const refused = (fault?: 'taken' | 'unusable' | 'throttled'): Refused => ({
      refused: () => showName(request, reply, username, fault),
    });
    const waiting = await steps.waiting(request, 'name');
    if (!waiting) return { refused: () => problem(request, reply, undefined, 'expired', {}) };
    const { content, connectionId } = waiting;
    if (!sessions.isOwnForm(request, csrf, { action: namePath, shown: shownOf(content) })) return refused();
    // a step must not let a user test an unlimited number of names (security R154)
    const wait = await countLinkRequest(options.limits, request);
    if (wait > 0) {
      reply.header('retry-after', String(wait));
      return refused('throttled');
    }
    const outcome = await linkIdentity(connectionId, content.identity, {
      purpose: 'sign-in',
      username: username.trim(),
      by: byOf(request),
    });
    if (outcome.outcome === 'name') return refused(outcome.taken ? 'taken' : 'unusable');
    await steps.finish(request, reply, 'name');
    // the caller stores the session afterwards
    await store.usedForms.keep(sessions.formHash(request));
    return { connectionId, content, outcome };
  }

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
