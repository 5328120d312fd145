// Begins an authorization request: a pushed one, one of an application that is not known yet, or any other with its effective parameters.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { InteractionFlow } from '../../interaction/relying-party.ts';
import { createStoredRequests, type StoredRequestsDependencies } from '../../interaction/stored-requests.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { createNewApplications, type NewApplicationDependencies } from './new-application.ts';
import { pushedTransaction } from './pushed-request.ts';
import { effectiveRequest } from './request-object.ts';
import { verificationContext, type VerificationDependencies } from './verification-context.ts';

type BeginDependencies = VerificationDependencies &
  StoredRequestsDependencies &
  NewApplicationDependencies & { flow: Pick<InteractionFlow, 'begin' | 'arrive' | 'expired'> };

/** @returns begins a request; it throws AuthorizationError for the client, OAuthError if the request cannot be trusted */
export function createAuthorizationBeginning(options: BeginDependencies) {
  const { flow } = options;
  const verification = verificationContext(options);
  const stored = createStoredRequests(options);
  const newApplications = createNewApplications(options);

  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: 'authorization' | 'authentication',
    parameters: Record<string, string>,
    confirm?: Parameters<InteractionFlow['begin']>[3],
  ): Promise<FastifyReply> => {
    // a request may be stored, and PostgreSQL stores no NUL (security R107)
    if (Object.entries(parameters).some(([name, value]) => name.includes('\0') || value.includes('\0')))
      throw invalidRequest('a parameter contains a NUL character');
    const pushed = pushedTransaction(parameters['request_uri']);
    if (pushed !== undefined) {
      // the first browser that names a pushed request owns it, and can load it again until it is answered
      const taken = await stored.take(request, reply, pushed, parameters['client_id']);
      return taken ? flow.arrive(request, reply, pushed) : flow.expired(request, reply);
    }
    if (endpoint === 'authorization' && (await newApplications.arrive(request, reply, parameters))) return reply;
    const { reason, ...effective } = await effectiveRequest(parameters, verification, false);
    if (reason !== undefined) request.log.info({ ...effective.problem, reason }, 'request object refused');
    return flow.begin(request, reply, { endpoint, ...effective }, confirm);
  };
}
