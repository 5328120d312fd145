// Serves GET /connections/{id}/callback: verifies the answer of a connection and does what it leads to.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { recentlyAuthenticated } from '../../browser/recent-sign-in.ts';
import { onlyNavigation } from '../../browser/session.ts';
import { ConnectionFailure } from '../../domain/connections/kind.ts';
import { readParameters, textFields } from '../../server/parameters.ts';
import { byOf, continuationIn, idOf, type LoginConnectionsDependencies } from './login-connections.ts';
import type { Decide } from './outcome.ts';
import type { ConnectionProblems } from './problem.ts';

/** As long as a provider's answer may be; a code has its own bounds there. */
const answerShape = textFields({ state: 100, code: 4096, iss: 1000, error: 1000 });

export function callbackRoutes(
  app: FastifyInstance,
  { sessions, pages, elsewhere, connectionSteps: steps, linkIdentity }: LoginConnectionsDependencies,
  { failed, problem }: ConnectionProblems,
  decide: Decide,
): void {
  app.get('/connections/:id/callback', async (request, reply) => {
    onlyNavigation(request);
    return receive(request, reply, idOf(request), readParameters(answerShape, request.query));
  });

  /** Verifies the answer of a connection and does what it leads to. */
  async function receive(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    given: Record<string, string | undefined>,
  ): Promise<FastifyReply> {
    const answer = Object.fromEntries(
      Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    const answered = await elsewhere.answer(request, id, answer);
    if (!answered) return problem(request, reply, undefined, 'expired', {});
    const { connection, step, identity } = answered;
    if (identity instanceof ConnectionFailure) return failed(request, reply, connection, identity, step);
    if (step.purpose === 'sign-in') {
      const outcome = await linkIdentity(id, identity, { purpose: 'sign-in', by: byOf(request) });
      return decide(request, reply, id, { ...continuationIn(step), identity }, outcome);
    }
    // a link's answer signs no user in: the page of the account asks for one button (federation FR4, FR6)
    const present = await sessions.find(request, reply);
    const session =
      present && present.user.sub === step.sub ? { sub: step.sub, recent: recentlyAuthenticated(present) } : undefined;
    const outcome = await linkIdentity(id, identity, { purpose: 'link', session, by: byOf(request) });
    if (outcome.outcome !== 'confirm') return decide(request, reply, id, { identity }, outcome);
    await steps.wait(request, reply, 'link', id, { identity, sub: outcome.sub });
    return pages.redirect(reply, '/account/connections');
  }
}
