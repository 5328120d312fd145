// Serves /login/connect, where a user signs in to the account with the address of an identity, so that the service links the identity.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type IdentityStep, withDates } from '../../authenticators/connection/steps.ts';
import type { Refused } from '../../browser/form-outcomes.ts';
import { recentlyAuthenticated, vainTrip } from '../../browser/recent-sign-in.ts';
import { onlyNavigation } from '../../browser/session.ts';
import { continuationPath, signInPath } from '../../interaction/sign-in.ts';
import { connectAccount, readReturnTo } from '../../pages/return-to.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import { readParameters, textFields } from '../../server/parameters.ts';
import { byOf, connectPath, contextOf, type LoginConnectionsDependencies, shownOf } from './login-connections.ts';
import type { Decide, StepOutcome } from './outcome.ts';
import type { ConnectionProblems } from './problem.ts';

const connectForm = textFields({ csrf: 100 });

export function proveAccountRoutes(
  app: FastifyInstance,
  options: LoginConnectionsDependencies,
  { problem }: ConnectionProblems,
  decide: Decide,
): void {
  const { store, sessions, formOutcomes, pages, connectionSteps: steps, linkIdentity } = options;

  app.get(connectPath, async (request, reply) => {
    onlyNavigation(request);
    return showConnect(request, reply, 200);
  });

  app.post(connectPath, async (request, reply) => {
    const session = await sessions.find(request, reply);
    const result = await formOutcomes.once(request, () => connect(request, reply, session), session !== undefined);
    if ('refused' in result) return result.refused();
    const { made } = result;
    const { sid, connectionId, outcome } = made;
    // the outcome belongs to the session that proved the account
    if (sid !== session?.sid) return showConnect(request, reply, 400);
    const content = withDates(made.content);
    if (outcome.outcome !== 'sign-in') return decide(request, reply, connectionId, content, outcome);
    // the session by the account's own factors stays
    const { transaction, destination } = content;
    return pages.redirect(reply, continuationPath({ transaction, returnTo: readReturnTo(destination) }));
  });

  /** Links the identity to the account. */
  async function connect(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session | undefined,
  ): Promise<(StepOutcome & { sid: string }) | Refused> {
    const refused: Refused = { refused: () => showConnect(request, reply, 400) };
    const { csrf } = readParameters(connectForm, request.body);
    const waiting = await steps.waiting(request, 'prove');
    if (!waiting || !session || !isProof(session, waiting.content, waiting.since)) return refused;
    const { connectionId } = waiting;
    if (!sessions.isOwnForm(request, csrf, { action: connectPath, session, shown: shownOf(waiting.content) }))
      return refused;
    // each step is used once, whatever the outcome (federation FR9)
    const content = await steps.finish(request, reply, 'prove');
    if (!content) return refused;
    const agreed = content.sub!;
    const by = byOf(request);
    const outcome = await linkIdentity(connectionId, content.identity, { purpose: 'sign-in', agreed, by });
    return { sid: session.sid, connectionId, content, outcome };
  }

  async function showConnect(request: FastifyRequest, reply: FastifyReply, status: number): Promise<FastifyReply> {
    const waiting = await steps.waiting(request, 'prove');
    if (!waiting) return problem(request, reply, undefined, 'expired', {});
    const { content, connectionId, since } = waiting;
    const connection = await store.connections.find(connectionId);
    const { session, pending } = await contextOf(options, request, reply, content.transaction);
    const isProven = session !== undefined && isProof(session, content, since);
    const trip = session?.user.sub === content.sub ? vainTrip(session!) : undefined;
    const isUntimed = !isProven && trip !== undefined && trip > since;
    const isOther = session !== undefined && session.user.sub !== content.sub && session.authTime > since;
    const csrf =
      isProven && sessions.formToken(request, reply, { action: connectPath, session, shown: shownOf(content) });
    return pages.send(
      request,
      reply,
      'login-connect',
      {
        name: connection?.displayName ?? connectionId,
        ...(pending?.client && { client: pending.client }),
        address: content.identity.address?.value ?? '',
        signInUri: signInPath('/login', { returnTo: connectAccount }),
        ...(csrf !== false && { form: { action: connectPath, hidden: { csrf } } }),
        ...(isOther && { other: true }),
        ...(isUntimed && { untimed: true }),
      },
      { status, uiLocales: pending?.uiLocales, here: connectPath },
    );
  }
}

/** Whether a session proves the account of a step: the user has shown every factor of that account since the step began (federation FR9). */
function isProof(session: Session, { sub }: IdentityStep, since: Date): boolean {
  return session.user.sub === sub && session.authTime > since && recentlyAuthenticated(session);
}
