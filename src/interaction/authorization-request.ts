// Verifies an authorization request: syntax, client, redirect URI, then everything else (security R1).
import { z } from 'zod';
import { scopeFor } from '../sender-constraint/audience.ts';
import { readParameters, text } from '../server/parameters.ts';
import { acrValues } from '../oauth/acr.ts';
import { parseClaimsRequest, type SingleClaims, singleClaims } from '../oauth/claims-request.ts';
import { isPublicClient } from '../oauth/client-metadata.ts';
import {
  AuthorizationError,
  type ErrorCode,
  invalidRequest,
  OAuthError,
  type ResponseTarget,
} from '../oauth/errors.ts';
import { isCodeChallenge } from '../oauth/pkce.ts';
import { isPrivateUseUri } from '../oauth/redirect-uri.ts';
import {
  defaultResponseMode,
  neededGrantTypes,
  parseResponseType,
  parts,
  type ResponseMode,
  responseModes,
  type ResponseType,
} from '../oauth/response-type.ts';
import { isScope, splitScope } from '../oauth/scope.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { RequestProblem } from './effective-request.ts';
import type { RequestRules } from './request-rules.ts';
import { mayAsk, registeredUri } from './redirect-check.ts';

/** A request whose client and redirect URI are good. */
export interface TrustedRequest {
  client: Client;
  target: ResponseTarget;
  /** The registered redirect URI, since a native app comes with another port each time (RFC 8252 7.3): what a grant remembers. */
  registeredUri: string;
  prompts: string[];
  uiLocales: string | undefined;
  loginHint: string | undefined;
  idTokenHint: string | undefined;
  /** What the client did wrong, if anything: told to it once the End-User is signed in. */
  error: AuthorizationError | undefined;
  /** Only meaningful without an error, as all that follows. */
  responseType: ResponseType;
  scope: string[];
  /** Single claims beside those of the scopes. */
  claims: SingleClaims;
  /** Whom the End-User has to be one of. */
  subjects: string[] | undefined;
  /** The levels of authentication that are wanted and known here, in order of preference. */
  acr: { values: string[]; essential: boolean };
  nonce: string | undefined;
  /** In seconds. */
  maxAge: number | undefined;
  codeChallenge: string | undefined;
  /** Whom the tokens will be for; undefined is the client itself. */
  audience: string[] | undefined;
}

const maxOpaque = 2048;
const maxScope = 1024;

const trusted = z.object({ client_id: text(255).optional(), redirect_uri: text(2000).optional() });

/**
 * @param parameters those that count, single-valued
 * @param problem what is wrong with the request as a whole
 * @param framed whether the answer goes into a frame, where no page can be shown
 * @throws OAuthError when the request cannot be trusted: nothing may be sent to the address that it names
 */
export async function verifyRequest(
  parameters: Record<string, string>,
  rules: Pick<RequestRules, 'findClient' | 'findAudience' | 'requirePkce' | 'prompts' | 'localhost'>,
  problem?: RequestProblem,
  framed = false,
): Promise<TrustedRequest> {
  const { client_id, redirect_uri } = readParameters(trusted, parameters);
  const client =
    client_id === undefined
      ? undefined
      : await rules.findClient(client_id, (known) => mayAsk(known, redirect_uri, rules.localhost));
  if (!client || client.status !== 'enabled') throw untrusted('unknown or disabled client');
  const registered = redirect_uri === undefined ? undefined : registeredUri(client, redirect_uri, rules.localhost);
  if (redirect_uri === undefined || registered === undefined) throw untrusted('the redirect URI is not registered');
  const state = parameters['state'];
  // its form would be a page
  const posted = framed && parameters['response_mode'] === 'form_post';
  const mode = posted ? undefined : parameters['response_mode'];
  const target: ResponseTarget = {
    redirectUri: redirect_uri,
    responseMode: responseMode(parameters['response_type'], mode, redirect_uri),
    state: state !== undefined && wellFormed(state, maxOpaque) ? state : undefined,
  };
  const request: TrustedRequest = {
    client,
    target,
    registeredUri: registered,
    prompts: splitScope(parameters['prompt'] ?? ''),
    uiLocales: parameters['ui_locales']?.slice(0, 200),
    loginHint: parameters['login_hint']?.slice(0, 255),
    idTokenHint: parameters['id_token_hint'],
    error: undefined,
    responseType: 'code',
    scope: [],
    claims: { userinfo: [], idToken: [], beside: [] },
    subjects: undefined,
    acr: { values: [], essential: false },
    nonce: undefined,
    maxAge: undefined,
    codeChallenge: undefined,
    audience: undefined,
  };
  if (problem) {
    request.error = new AuthorizationError(target, problem.code, problem.description);
    return request;
  }
  try {
    if (posted) throw invalidRequest('response_mode form_post needs a page, and there is none in a frame');
    verifyRest(request, parameters, rules);
    const { resource } = parameters;
    if (resource !== undefined) request.audience = await rules.findAudience(resource);
    scopeFor(request.audience, splitScope(parameters['scope'] ?? ''), true);
    request.scope = scopeFor(request.audience, request.scope, false);
  } catch (error) {
    if (error instanceof AuthorizationError) request.error = error;
    else if (error instanceof OAuthError) request.error = new AuthorizationError(target, error.code, error.description);
    else throw error;
  }
  return request;
}

function verifyRest(
  request: TrustedRequest,
  parameters: Record<string, string>,
  { requirePkce, prompts }: Pick<RequestRules, 'requirePkce' | 'prompts'>,
): void {
  const { client, target } = request;
  const { metadata } = client;
  const refuse = (code: ErrorCode, description: string): never => {
    throw new AuthorizationError(target, code, description);
  };

  if (parameters['state'] !== target.state)
    refuse('invalid_request', `state must be well-formed text of at most ${maxOpaque} characters`);
  if (parameters['registration'] !== undefined)
    refuse('registration_not_supported', 'the registration parameter is not supported');

  const mode = parameters['response_mode'];
  if (mode !== undefined && !responseModes.some((known) => known === mode))
    refuse('invalid_request', 'response_mode is not supported');
  if (mode === 'form_post' && isPrivateUseUri(target.redirectUri)) {
    refuse('invalid_request', 'response_mode form_post needs an http redirect URI');
  }
  const given = parameters['response_type'];
  if (given === undefined) return refuse('invalid_request', 'the parameter response_type is missing');
  const type = parseResponseType(given);
  if (type === undefined) return refuse('unsupported_response_type', 'response_type is not supported');
  request.responseType = type;
  const { code, idToken, token } = parts(type);
  // only what the client registered (security R6)
  if (
    !metadata.response_types.includes(type) ||
    !neededGrantTypes([type]).every((needed) => metadata.grant_types.includes(needed))
  ) {
    refuse('unauthorized_client', 'the client is not registered for this response_type');
  }
  if (mode === 'query' && (idToken || token)) refuse('invalid_request', 'response_mode query cannot carry tokens');

  // without one the registered scopes, as at /authenticate (RFC 6749 3.3)
  const scope = parameters['scope'] ?? metadata.scope;
  if (scope.length > maxScope || !isScope(scope)) refuse('invalid_scope', 'scope must be a list of scope values');
  const askedScope = splitScope(scope);
  const registered = splitScope(metadata.scope);
  if (!registered.includes('openid')) refuse('invalid_scope', 'the client is not registered for the scope openid');
  if (!askedScope.includes('openid')) refuse('invalid_scope', 'scope must include openid');
  // asked and registered; the grant has its say when the code is issued (security R12)
  request.scope = askedScope.filter((value) => registered.includes(value));
  if (!metadata.grant_types.includes('refresh_token'))
    request.scope = request.scope.filter((value) => value !== 'offline_access');

  const asked = parseClaimsRequest(parameters['claims']);
  request.subjects = asked.subjects;
  request.claims = singleClaims(asked, request.scope, registered, {
    userinfo: code || token,
    idToken: code || idToken,
  });
  // what the claim of the ID Token demands is more than a wish
  const wanted = asked.acr?.values ?? parameters['acr_values']?.split(' ') ?? metadata.default_acr_values ?? [];
  request.acr = { values: wanted.filter((acr) => acrValues.includes(acr)), essential: asked.acr?.essential ?? false };
  if (request.acr.essential && request.acr.values.length === 0)
    refuse('unmet_authentication_requirements', 'no sign-in here reaches the acr that the request demands');

  const nonce = parameters['nonce'];
  if (nonce !== undefined && !wellFormed(nonce, maxOpaque))
    refuse('invalid_request', `nonce must be well-formed text of at most ${maxOpaque} characters`);
  request.nonce = nonce;
  if (nonce === undefined && idToken)
    refuse('invalid_request', 'nonce is required where the response carries an ID Token');

  if (!request.prompts.every((prompt) => prompts.includes(prompt)))
    refuse('invalid_request', 'prompt holds an unknown value');
  // what is asked of a new account cannot be asked of an old one, too (Initiating User Registration 1.0, 4.1)
  for (const alone of ['none', 'create'])
    if (request.prompts.includes(alone) && request.prompts.length > 1)
      refuse('invalid_request', `prompt=${alone} goes with no other value`);

  const maxAge = parameters['max_age'];
  if (maxAge !== undefined && !/^\d{1,9}$/.test(maxAge))
    refuse('invalid_request', 'max_age must be a whole number of seconds');
  request.maxAge = maxAge === undefined ? metadata.default_max_age : Number(maxAge);

  const challenge = parameters['code_challenge'];
  const method = parameters['code_challenge_method'];
  // S256 or nothing (security R20)
  if (challenge === undefined) {
    if (method !== undefined) refuse('invalid_request', 'code_challenge_method needs code_challenge');
    if (code && (requirePkce || metadata.require_pkce || isPublicClient(metadata)))
      refuse('invalid_request', 'code_challenge is required (PKCE with S256)');
  } else {
    if (method !== 'S256') refuse('invalid_request', 'code_challenge_method must be S256');
    if (!isCodeChallenge(challenge)) refuse('invalid_request', 'code_challenge must be 43 characters of base64url');
    request.codeChallenge = challenge;
  }
}

/** The mode that was asked for where it can be kept, else the response type's own. */
function responseMode(type: string | undefined, mode: string | undefined, redirectUri: string): ResponseMode {
  const known = responseModes.find((supported) => supported === mode);
  const fallback = defaultResponseMode(parseResponseType(type ?? '') ?? 'code');
  if (known === undefined || (known === 'form_post' && isPrivateUseUri(redirectUri))) return fallback;
  return known === 'query' ? fallback : known;
}

function wellFormed(value: string, max: number): boolean {
  return value.length <= max && !value.includes('\0') && value.isWellFormed();
}

function untrusted(cause: string): OAuthError {
  return new OAuthError('invalid_request', 'the request cannot be trusted', 400, { cause });
}
