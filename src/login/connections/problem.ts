// Shows the page for a failed sign-in by a connection, and records the reason.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { connectionPath } from '../../authenticators/connection/connection.ts';
import type { StepContinuation } from '../../authenticators/connection/steps.ts';
import type { ConnectionFailure } from '../../domain/connections/kind.ts';
import { signInPath } from '../../interaction/sign-in.ts';
import { OAuthError } from '../../oauth/errors.ts';
import { markOf } from '../../pages/connection-mark.ts';
import { readReturnTo } from '../../pages/return-to.ts';
import type { ConnectionProblem } from '../../pages/views/connections.ts';
import type { Connection } from '../../entities/connections.ts';
import { contextOf, type LoginConnectionsDependencies } from './login-connections.ts';

export type ConnectionProblems = ReturnType<typeof createConnectionProblems>;

export function createConnectionProblems(options: LoginConnectionsDependencies) {
  const { sessions, pages, elsewhere } = options;
  return { failed, problem };

  async function failed(
    request: FastifyRequest,
    reply: FastifyReply,
    connection: Connection,
    failure: ConnectionFailure,
    continuation: StepContinuation,
  ): Promise<FastifyReply> {
    await elsewhere.recordFailure(request, connection, failure);
    return problem(request, reply, connection, failure.reason, continuation, undefined, failure.message);
  }

  /** Shows a text of this service about why the sign-in ended, and never the provider's own text (federation FR13). */
  async function problem(
    request: FastifyRequest,
    reply: FastifyReply,
    connection: Connection | undefined,
    reason: ConnectionProblem,
    { transaction, destination }: StepContinuation,
    leadsTo?: string,
    detail?: string,
  ): Promise<FastifyReply> {
    const status = reason === 'unreachable' ? 503 : 400;
    const { session, pending } = await contextOf(options, request, reply, transaction);
    // strangers can cause failures, so the log has a sentence and no stack trace (security R161)
    const sentence = [`a sign-in by a connection ended: ${reason}`, detail]
      .filter((part) => part !== undefined)
      .join(', ');
    const refusal = new OAuthError('access_denied', sentence, status, {
      facts: {
        problem: reason,
        ...(connection && { connection: connection.id }),
        ...(pending?.client && { client_id: pending.client.clientId, client_name: pending.client.name }),
      },
    });
    const returnTo = readReturnTo(destination);
    const other = leadsTo === undefined ? undefined : await elsewhere.find(leadsTo, 'sign-in');
    const action = other && connectionPath(other.id);
    const csrf =
      action &&
      sessions.formToken(request, reply, { action, transaction: pending && transaction, session, shown: destination });
    const hidden = {
      csrf: csrf ?? '',
      ...(pending && { transaction: transaction! }),
      ...(destination !== undefined && { destination }),
    };
    return pages.send(
      request,
      reply,
      'connection-problem',
      {
        problem: reason,
        ...(connection && { name: connection.displayName }),
        ...(pending?.client && { client: pending.client }),
        signInUri: signInPath('/login', { transaction: pending && transaction, returnTo }),
        ...(other && {
          leadsTo: { id: other.id, name: other.displayName, ...markOf(other), form: { action: action!, hidden } },
        }),
        reference: await pages.explain(request, refusal),
      },
      { status, uiLocales: pending?.uiLocales },
    );
  }
}
