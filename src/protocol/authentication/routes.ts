// Serves GET /authenticate, the short form of an authorization request (specification 4.2, decisions section 3).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import { onlyForms } from '../../server/form-body.ts';
import { accountView, clientView, type PageResponses } from '../../pages/page-response.ts';
import { readParameters, singleValued } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import { invalidRequest, OAuthError } from '../../oauth/errors.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Config } from '../../config.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { InteractionFlow } from '../../interaction/relying-party.ts';
import { addressFacts, redirectHint, redirectUriAllowed } from '../../rules/clients/redirect-addresses.ts';
import { continuationPath } from '../../interaction/sign-in.ts';

/** The parameters of the short form. */
const honoured = [
  'client_id',
  'redirect_uri',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  // without it the code would be bound to no key although the client asks for it (RFC 9449 10)
  'dpop_jkt',
];
const confirmation = z.object({ csrf: text(100), transaction: text(100) });

interface AuthenticationDependencies {
  config: Config;
  clients: ClientCache;
  sessions: BrowserSessions;
  pages: PageResponses;
  beginAuthorization: (
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: 'authentication',
    parameters: Record<string, string>,
    confirm?: Parameters<InteractionFlow['begin']>[3],
  ) => Promise<FastifyReply>;
  flow: Pick<InteractionFlow, 'errors'>;
}

export async function authenticationEndpoint(app: FastifyInstance, options: AuthenticationDependencies): Promise<void> {
  const { beginAuthorization, config, clients, flow, pages, sessions } = options;
  await onlyForms(app);
  app.setErrorHandler(flow.errors);

  app.get('/authenticate', async (request, reply) => {
    onlyNavigation(request);
    const sent = singleValued(request.query);
    const { client_id: named, redirect_uri: redirectUri } = sent;
    const suits = (known: Client) =>
      redirectUriAllowed(known, redirectUri, config.loopbackLocalhost) &&
      !known.rules.isPublic &&
      known.rules.hasShortForm;
    const client = named === undefined ? undefined : await clients.find(named, suits);
    if (!client || !suits(client)) throw untrusted(client, named, redirectUri, config.loopbackLocalhost);
    const parameters = {
      ...Object.fromEntries(honoured.flatMap((name) => (sent[name] === undefined ? [] : [[name, sent[name]]]))),
      response_type: 'code',
      scope: client.metadata.scope,
    };
    // another site can send a browser to this endpoint: without a challenge the code is bound to no request of the client
    const unasked = isForeign(request) && sent['code_challenge'] === undefined && !client.firstParty;
    return beginAuthorization(
      request,
      reply,
      'authentication',
      parameters,
      unasked
        ? (target, session, transaction) =>
            pages.send(request, reply, 'continue', {
              client: clientView(client, target),
              account: accountView(session.user),
              form: {
                action: '/authenticate',
                hidden: {
                  csrf: sessions.formToken(request, reply, { action: '/authenticate', transaction, session }),
                  transaction,
                },
              },
            })
        : undefined,
    );
  });

  app.post('/authenticate', async (request, reply) => {
    const { csrf, transaction } = readParameters(confirmation, singleValued(request.body));
    const session = await sessions.find(request, reply);
    if (!sessions.isOwnForm(request, csrf, { action: '/authenticate', transaction, session })) {
      throw invalidRequest('the form has expired or came from another site');
    }
    return pages.redirect(reply, continuationPath({ transaction }));
  });
}

function untrusted(client: Client | undefined, named = '', sent = '', localhost: boolean): OAuthError {
  const allowed = client && redirectUriAllowed(client, sent, localhost);
  const hint = client && !allowed ? redirectHint(client, sent, localhost) : undefined;
  return new OAuthError('invalid_request', 'the request cannot be trusted', 400, {
    cause: allowed
      ? 'a public client, and one of FAPI 2.0, cannot use the short form'
      : 'the client is unknown or not enabled, or the redirect URI is not registered for it',
    facts: {
      ...addressFacts({ clientId: named, sent }, client, client?.metadata.redirect_uris),
      ...(hint !== undefined && { hint }),
    },
  });
}

/** True unless the browser says that the navigation began on this site or by the user's own input. */
function isForeign(request: FastifyRequest): boolean {
  const site = request.headers['sec-fetch-site'];
  return site !== 'same-origin' && site !== 'none';
}
