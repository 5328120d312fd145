// Applies the decision about an identity: signs its user in, asks the user for a proof or a name, or refuses.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VerifiedUser } from '../../authenticators/authenticator.ts';
import type { IdentityStep } from '../../authenticators/connection/steps.ts';
import type { LinkOutcome } from '../../domain/connections/link-identity.ts';
import { type Continuation, signInPath } from '../../interaction/sign-in.ts';
import { unknownAuthTime } from '../../oauth/acr.ts';
import { readReturnTo } from '../../pages/return-to.ts';
import { sessionLifetimeOf } from '../../rules/connections/connection-answer.ts';
import type { Connection } from '../../entities/connections.ts';
import { connectPath, continuationIn, type LoginConnectionsDependencies, namePath } from './login-connections.ts';
import type { ConnectionProblems } from './problem.ts';

export type Decide = ReturnType<typeof createDecide>['decide'];

/** The outcome of the form of a waiting step. */
export interface StepOutcome {
  connectionId: string;
  content: IdentityStep;
  outcome: LinkOutcome;
}

export function createDecide(options: LoginConnectionsDependencies, { problem }: ConnectionProblems) {
  const { store, sessions, signIn, pages, connectionSteps: steps, upstreamTokens, uses } = options;
  return { decide, repeat };

  async function decide(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    content: IdentityStep,
    outcome: LinkOutcome,
  ): Promise<FastifyReply> {
    const continuation = continuationIn(content);
    switch (outcome.outcome) {
      case 'sign-in':
        return complete(request, reply, id, content, outcome.sub);
      case 'prove':
        await steps.wait(request, reply, 'prove', id, { ...content, sub: outcome.sub });
        return pages.redirect(reply, connectPath);
      case 'name':
        await steps.wait(request, reply, 'name', id, content);
        return pages.redirect(reply, namePath);
      case 'confirm':
        return problem(request, reply, undefined, 'expired', continuation);
      case 'refused': {
        const connection = await store.connections.find(id);
        return problem(request, reply, connection, outcome.reason, continuation, outcome.leadsTo);
      }
    }
  }

  async function complete(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    content: IdentityStep,
    sub: string,
  ): Promise<FastifyReply> {
    const connection = await store.connections.find(id);
    if (connection) await upstreamTokens.keep(connection, sub, content.identity);
    const { user, continuation, isExpired } = await verified(request, reply, connection, id, content, sub);
    const next = await signIn.proceed(request, reply, user, continuation);
    if (next === undefined) return problem(request, reply, connection, 'closed', continuationIn(content));
    uses.note('connections', id);
    return pages.redirect(reply, isExpired ? signInPath('/login', continuationIn(content)) : next);
  }

  /** Sends a browser that submitted a form twice to the destination of the first submission. */
  async function repeat(
    request: FastifyRequest,
    reply: FastifyReply,
    { connectionId: id, content, outcome }: StepOutcome,
  ): Promise<FastifyReply> {
    if (outcome.outcome !== 'sign-in') return decide(request, reply, id, content, outcome);
    const connection = await store.connections.find(id);
    const { user, continuation, isExpired } = await verified(request, reply, connection, id, content, outcome.sub);
    const next = await signIn.repeat(request, reply, continuation, user);
    if (next === undefined) return problem(request, reply, connection, 'expired', continuationIn(content));
    return pages.redirect(reply, isExpired ? signInPath('/login', continuationIn(content)) : next);
  }

  /** The user of an identity, and the page with which the sign-in continues. */
  async function verified(
    request: FastifyRequest,
    reply: FastifyReply,
    connection: Connection | undefined,
    id: string,
    { identity, anew, transaction, destination, remember }: IdentityStep,
    sub: string,
  ) {
    const { session, pending } = await sessions.findContext(request, reply, { transaction });
    const { issuer, subject, sid, amr, authTime = unknownAuthTime } = identity;
    const lifetime = sessionLifetimeOf(connection?.sessionLifetime, identity.sessionEnds, new Date());
    const upstream = { connectionId: id, issuer, subject, sid, anew, lifetime };
    const user: VerifiedUser = { sub, passwordHash: undefined, amr, authTime, upstream };
    const continuation: Continuation = {
      previous: session,
      transaction: pending && transaction,
      clientId: pending?.clientId,
      returnTo: readReturnTo(destination),
      remember,
    };
    return { user, continuation, isExpired: transaction !== undefined && !pending };
  }
}
