// Verifies an authorization request: client and redirect URI first, then every other parameter (security R1).
import { z } from 'zod';
import {
  addressFacts,
  admitsUsers,
  redirectHint,
  redirectUriAllowed,
  registeredUri,
} from '../../rules/clients/redirect-addresses.ts';
import { maxClientId } from '../../oauth/client-document.ts';
import type { ClientMetadata } from '../../oauth/client-metadata.ts';
import {
  AuthorizationError,
  invalidRequest,
  OAuthError,
  type RefusalFacts,
  type ResponseTarget,
} from '../../oauth/errors.ts';
import { isPrivateUseUri } from '../../oauth/redirect-uri.ts';
import { defaultDelivery, type Delivery, parseResponseMode, parseResponseType } from '../../oauth/response-type.ts';
import { splitScope } from '../../oauth/scope.ts';
import { readParameters } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import { checks, type CheckRules, wellFormed } from './checks.ts';
import { maxLargeBytes, type RequestProblem } from './request-object.ts';
import type { VerificationContext } from './verification-context.ts';
import type { TrustedRequest } from './trusted-request.ts';

const trusted = z.object({ client_id: text(maxClientId).optional(), redirect_uri: text(2000).optional() });

/**
 * @param parameters the effective ones, single-valued
 * @param problem the reason to refuse the request as a whole
 * @param framed whether the browser loads the response in a frame, where no page can be shown
 * @throws OAuthError if the request cannot be trusted: then nothing may be sent to the address that it names
 */
export async function verifyRequest(
  parameters: Record<string, string>,
  context: Pick<VerificationContext, 'findClient' | 'localhost'> & CheckRules,
  problem?: RequestProblem,
  framed = false,
): Promise<TrustedRequest> {
  const { client_id: clientId, redirect_uri: redirectUri } = readParameters(trusted, parameters);
  const client =
    clientId === undefined
      ? undefined
      : await context.findClient(clientId, (known) => redirectUriAllowed(known, redirectUri, context.localhost));
  const sent = { clientId, sent: redirectUri };
  if (!client) throw untrusted('there is no client with this client_id', addressFacts(sent));
  const facts = () => addressFacts(sent, client, client.metadata.redirect_uris);
  if (!admitsUsers(client))
    throw untrusted(client.documentGone ? 'the document of the client is gone' : 'the client is not enabled', facts());
  const registered = redirectUri === undefined ? undefined : registeredUri(client, redirectUri, context.localhost);
  if (redirectUri === undefined) throw untrusted('the request has no redirect_uri', facts());
  if (registered === undefined) {
    const hint = redirectHint(client, redirectUri, context.localhost);
    throw untrusted('the redirect URI is not registered for the client', {
      ...facts(),
      ...(hint !== undefined && { hint }),
    });
  }
  const { state } = parameters;
  const mode = parseResponseMode(parameters['response_mode'] ?? '');
  // the form of form_post is a page
  const posted = framed && mode?.delivery === 'form_post';
  const usable =
    !posted &&
    !(mode?.delivery === 'form_post' && isPrivateUseUri(redirectUri)) &&
    // an encrypted response may be in the query, whatever it holds (JARM 2.3.1)
    (mode?.delivery !== 'query' || (mode.jwt && isEncrypted(client.metadata)));
  const target: ResponseTarget = {
    redirectUri,
    delivery: (usable ? mode?.delivery : undefined) ?? defaultOf(parameters['response_type']),
    jwtAudience: mode?.jwt ? client.clientId : undefined,
    state: state !== undefined && wellFormed(state, maxLargeBytes) ? state : undefined,
  };
  const request: TrustedRequest = {
    client,
    target,
    registeredUri: registered,
    prompts: splitScope(parameters['prompt'] ?? ''),
    uiLocales: parameters['ui_locales']?.slice(0, 200),
    idTokenHint: parameters['id_token_hint'],
    error: undefined,
    responseType: 'code',
    scope: [],
    claims: { userinfo: [], idToken: [], beside: [] },
    subjects: [],
    acr: { values: [], essential: false },
    nonce: undefined,
    maxAge: undefined,
    needsAuthTime: false,
    codeChallenge: undefined,
    codeBinding: 'none',
    targets: [],
  };
  try {
    if (problem) throw new OAuthError(problem.code, problem.description);
    if (posted) throw invalidRequest('a response_mode with form_post cannot be used in a frame');
    for (const check of checks) await check(request, parameters, context);
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    request.error = new AuthorizationError(target, error.code, error.description);
  }
  return request;
}

const isEncrypted = (metadata: ClientMetadata) => metadata.authorization_encrypted_response_alg !== undefined;

const defaultOf = (type = ''): Delivery => defaultDelivery(parseResponseType(type) ?? 'code');

function untrusted(cause: string, facts: RefusalFacts): OAuthError {
  return new OAuthError('invalid_request', 'the request cannot be trusted', 400, { cause, facts });
}
