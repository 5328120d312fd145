// Serves GET|POST /authorize, which begins authorization requests and continues them after a sign-in page (OpenID Connect Core 3.1.2).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import { onlyForms } from '../../server/form-body.ts';
import { singleValued } from '../../server/parameters.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { InteractionFlow } from '../../interaction/relying-party.ts';

/** The length of an address to which a form can be redirected. */
const maxAddress = 8000;

interface AuthorizationDependencies {
  pages: PageResponses;
  sessions: Pick<BrowserSessions, 'carriesSession'>;
  beginAuthorization: (
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: 'authorization',
    parameters: Record<string, string>,
  ) => Promise<FastifyReply>;
  flow: Pick<InteractionFlow, 'resume' | 'errors'>;
}

export async function authorizationEndpoint(
  app: FastifyInstance,
  { beginAuthorization, flow, pages, sessions }: AuthorizationDependencies,
): Promise<void> {
  await onlyForms(app);
  app.setErrorHandler(flow.errors);

  app.get('/authorize', (request, reply) => {
    const parameters = singleValued(request.query);
    requireNavigation(request, parameters);
    const { transaction } = parameters;
    return transaction === undefined
      ? beginAuthorization(request, reply, 'authorization', parameters)
      : flow.resume(request, reply, transaction);
  });

  app.post('/authorize', (request, reply) => {
    const query = singleValued(request.query);
    const body = singleValued(request.body);
    if (Object.keys(query).some((name) => name in body)) throw invalidRequest('a parameter is repeated');
    const parameters = { ...query, ...body };
    delete parameters['transaction'];
    requireNavigation(request, parameters);
    // a form of another site lacks the session's cookie (SameSite=Lax); a GET has it
    const address = `/authorize?${new URLSearchParams(parameters).toString()}`;
    if (!sessions.carriesSession(request) && address.length < maxAddress) return pages.redirect(reply, address);
    return beginAuthorization(request, reply, 'authorization', parameters);
  });
}

/** Allows a frame for `prompt=none` only, which may be in a request object (security R8). @throws OAuthError */
function requireNavigation(request: FastifyRequest, parameters: Readonly<Record<string, string>>): void {
  const { prompt, transaction, request: object, request_uri: reference } = parameters;
  const isSilent = prompt?.split(' ').includes('none') || object !== undefined || reference !== undefined;
  onlyNavigation(request, transaction === undefined && isSilent);
}
