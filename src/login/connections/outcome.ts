// Does what the rule decided about an identity: signs its user in, asks for a proof or a name, or refuses.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IdentityStep } from '../../authenticators/connection/steps.ts';
import type { LinkOutcome } from '../../domain/connections/link-identity.ts';
import { signInPath } from '../../interaction/sign-in.ts';
import { unknownAuthTime } from '../../oauth/acr.ts';
import { readReturnTo } from '../../pages/return-to.ts';
import { connectPath, continuationIn, type LoginConnectionsDependencies, namePath } from './login-connections.ts';
import type { ConnectionProblems } from './problem.ts';

export type Decide = ReturnType<typeof createDecide>;

export function createDecide(options: LoginConnectionsDependencies, { problem }: ConnectionProblems) {
  const { store, sessions, signIn, pages, connectionSteps: steps, upstreamTokens } = options;
  return decide;

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
    { identity, anew, transaction, destination }: IdentityStep,
    sub: string,
  ): Promise<FastifyReply> {
    const connection = await store.connections.find(id);
    if (connection) await upstreamTokens.keep(connection, sub, identity);
    const { session, pending } = await sessions.findContext(request, reply, { transaction });
    const isExpired = transaction !== undefined && !pending;
    const continuation = {
      previous: session,
      transaction: pending && transaction,
      clientId: pending?.clientId,
      returnTo: readReturnTo(destination),
    };
    const { issuer, subject, sid, amr, authTime = unknownAuthTime } = identity;
    const upstream = { connectionId: id, issuer, subject, sid, anew, lifetime: connection?.sessionLifetime };
    const next = await signIn.proceed(
      request,
      reply,
      { sub, passwordHash: undefined, amr, authTime, upstream },
      continuation,
    );
    if (next === undefined) return problem(request, reply, connection, 'closed', { transaction, destination });
    return pages.redirect(reply, isExpired ? signInPath('/login', { transaction }) : next);
  }
}
