// Serves GET /login/directory: signs a user in after a directory has verified the password.
import type { FastifyInstance } from 'fastify';
import { directoryPath } from '../../authenticators/directory/directory-passwords.ts';
import { onlyNavigation } from '../../browser/session.ts';
import { byOf, type LoginConnectionsDependencies } from './login-connections.ts';
import type { Decide } from './outcome.ts';
import type { ConnectionProblems } from './problem.ts';

export function directoryRoutes(
  app: FastifyInstance,
  { connectionSteps: steps, linkIdentity }: LoginConnectionsDependencies,
  { problem }: ConnectionProblems,
  decide: Decide,
): void {
  app.get(directoryPath, async (request, reply) => {
    onlyNavigation(request);
    const waiting = await steps.waiting(request, 'verified');
    const content = waiting && (await steps.finish(request, reply, 'verified'));
    if (!waiting || !content) return problem(request, reply, undefined, 'expired', {});
    const outcome = await linkIdentity(waiting.connectionId, content.identity, {
      purpose: 'sign-in',
      by: byOf(request),
    });
    return decide(request, reply, waiting.connectionId, content, outcome);
  });
}
