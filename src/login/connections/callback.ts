// Serves /connections/{id}/callback, and /connections/{id}/continue after a posted answer: verifies the answer and continues the sign-in or the link.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { connectionPath } from '../../authenticators/connection/connection.ts';
import type { Answered } from '../../authenticators/connection/elsewhere.ts';
import { recentlyAuthenticated } from '../../browser/recent-sign-in.ts';
import { onlyNavigation } from '../../browser/session.ts';
import { ConnectionFailure } from '../../domain/connections/kind.ts';
import { readParameters, textFields } from '../../server/parameters.ts';
import { byOf, continuationIn, idOf, type LoginConnectionsDependencies } from './login-connections.ts';
import type { Decide } from './outcome.ts';
import type { ConnectionProblems } from './problem.ts';

/** The most characters of each parameter of an answer. */
const members = { state: 100, code: 4096, iss: 1000, error: 1000 };
const answerShape = textFields(members);
/** Apple also posts the user's names, once. */
const postedShape = textFields({ ...members, user: 4000 });
const continueShape = textFields({ answer: 100 });

export function callbackRoutes(
  app: FastifyInstance,
  { sessions, pages, elsewhere, connectionSteps: steps, linkIdentity }: LoginConnectionsDependencies,
  { failed, problem }: ConnectionProblems,
  decide: Decide,
): void {
  app.get('/connections/:id/callback', async (request, reply) => {
    onlyNavigation(request);
    const answer = given(readParameters(answerShape, request.query));
    return receive(request, reply, await elsewhere.answer(request, idOf(request), answer));
  });

  // a request from another site carries no cookie that is SameSite=Lax: the service answers without knowing the browser, and sets no cookie
  app.post('/connections/:id/callback', async (request, reply) => {
    const id = idOf(request);
    const kept = await elsewhere.keep(id, given(readParameters(postedShape, request.body)));
    const query = kept === undefined ? '' : `?answer=${kept}`;
    return pages.redirect(reply, `${connectionPath(encodeURIComponent(id))}/continue${query}`);
  });

  app.get('/connections/:id/continue', async (request, reply) => {
    onlyNavigation(request);
    const { answer } = readParameters(continueShape, request.query);
    return receive(request, reply, await elsewhere.answerKept(request, idOf(request), answer));
  });

  /** Continues the sign-in or the link with the answer of a connection. */
  async function receive(
    request: FastifyRequest,
    reply: FastifyReply,
    answered: Answered | undefined,
  ): Promise<FastifyReply> {
    if (!answered) return problem(request, reply, undefined, 'expired', {});
    const { connection, step, identity } = answered;
    const { id } = connection;
    if (identity instanceof ConnectionFailure) return failed(request, reply, connection, identity, step);
    if (step.purpose === 'sign-in') {
      const outcome = await linkIdentity(id, identity, { purpose: 'sign-in', by: byOf(request) });
      return decide(request, reply, id, { ...continuationIn(step), identity, anew: step.anew }, outcome);
    }
    // the answer to a link signs no user in: the account page asks the user to confirm the link (federation FR4, FR6)
    const present = await sessions.find(request, reply);
    const session =
      present && present.user.sub === step.sub ? { sub: step.sub, recent: recentlyAuthenticated(present) } : undefined;
    const outcome = await linkIdentity(id, identity, { purpose: 'link', session, by: byOf(request) });
    if (outcome.outcome !== 'confirm') return decide(request, reply, id, { identity }, outcome);
    await steps.wait(request, reply, 'link', id, { identity, sub: outcome.sub });
    return pages.redirect(reply, '/account/connections');
  }
}

/** The parameters of an answer that have a value. */
const given = (parameters: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined));
