// Checks the parameters of an authorization request whose client and redirect URI are verified: one table, in order.
import { acrValues } from '../../oauth/acr.ts';
import { parseClaimsRequest, singleClaims } from '../../oauth/claims-request.ts';
import { isPublicClient } from '../../oauth/client-metadata.ts';
import { consoleClientId } from '../../rules/clients/console-client.ts';
import { type ErrorCode, OAuthError, profileMissing } from '../../oauth/errors.ts';
import { follows } from '../../oauth/fapi2.ts';
import { isCodeChallenge } from '../../oauth/pkce.ts';
import { isPrivateUseUri, needsAdmission } from '../../oauth/redirect-uri.ts';
import { neededGrantTypes, parseResponseMode, parseResponseType, parts } from '../../oauth/response-type.ts';
import { isThumbprint } from '../../oauth/dpop-proof.ts';
import { isScope, splitScope } from '../../oauth/scope.ts';
import { oneResource, permittedScope } from '../../sender-constraint/audience.ts';
import type { VerificationContext } from './verification-context.ts';
import type { TrustedRequest } from './trusted-request.ts';

/** Characters. */
const maxOpaque = 2048;
const maxScope = 1024;

export type CheckRules = Pick<VerificationContext, 'findTargets' | 'findDetails' | 'requirePkce' | 'prompts' | 'fapi2'>;

/** Refuses a request, or stores the values that it has read in it. @throws OAuthError */
type Check = (request: TrustedRequest, parameters: Record<string, string>, rules: CheckRules) => void | Promise<void>;

export const checks: readonly Check[] = [
  checkState,
  checkProfile,
  checkRegistration,
  checkResponseMode,
  checkResponseType,
  checkDetails,
  checkScope,
  checkClaims,
  checkAcr,
  checkNonce,
  checkPrompt,
  checkMaxAge,
  checkPkce,
  checkDpopKey,
];

export function wellFormed(value: string, max = maxOpaque): boolean {
  return value.length <= max && !value.includes('\0') && value.isWellFormed();
}

function refuse(code: ErrorCode, description: string): never {
  throw new OAuthError(code, description);
}

function checkState({ target }: TrustedRequest, { state }: Record<string, string>): void {
  // the error itself carries a state that is only too long (RFC 6749 4.1.2.1)
  if (state !== target.state || (state !== undefined && state.length > maxOpaque))
    refuse('invalid_request', `state must be well-formed text of at most ${maxOpaque} characters`);
}

function checkProfile({ client }: TrustedRequest, _parameters: Record<string, string>, { fapi2 }: CheckRules): void {
  if (fapi2 !== undefined && client.clientId !== consoleClientId && !follows(client.metadata, fapi2))
    refuse('unauthorized_client', profileMissing);
}

function checkRegistration(_request: TrustedRequest, { registration }: Record<string, string>): void {
  if (registration !== undefined) refuse('registration_not_supported', 'the registration parameter is not supported');
}

function checkResponseMode({ client, target }: TrustedRequest, { response_mode: mode }: Record<string, string>): void {
  if (target.jwtAudience === undefined && client.rules.needsJwtResponses)
    refuse('invalid_request', 'FAPI 2.0 Message Signing requires a response_mode with jwt');
  if (mode === undefined) return;
  const { delivery } = parseResponseMode(mode) ?? refuse('invalid_request', 'response_mode is not supported');
  if (delivery === 'form_post' && isPrivateUseUri(target.redirectUri))
    refuse('invalid_request', `response_mode ${mode} requires an http redirect URI`);
}

function checkResponseType(request: TrustedRequest, parameters: Record<string, string>): void {
  const { metadata } = request.client;
  const given = parameters['response_type'];
  if (given === undefined) refuse('invalid_request', 'the parameter response_type is missing');
  const type = parseResponseType(given) ?? refuse('unsupported_response_type', 'response_type is not supported');
  request.responseType = type;
  // only response types that the client registered (security R6)
  if (
    !metadata.response_types.includes(type) ||
    !neededGrantTypes([type]).every((needed) => metadata.grant_types.includes(needed))
  )
    refuse('unauthorized_client', 'the client is not registered for this response_type');
  const { idToken, token } = parts(type);
  if (!idToken && !token) return;
  const mode = parameters['response_mode'];
  if (mode === 'query') refuse('invalid_request', 'response_mode query cannot carry tokens');
  // JARM 2.3.1
  if (mode === 'query.jwt' && metadata.authorization_encrypted_response_alg === undefined)
    refuse('invalid_request', 'response_mode query.jwt can carry tokens only if the client registered encryption');
}

/** Only a request with details reads their types (RFC 9396 2, 5). */
async function checkDetails(
  request: TrustedRequest,
  { authorization_details: details }: Record<string, string>,
  { findDetails }: CheckRules,
): Promise<void> {
  if (details === undefined) return;
  request.details = await findDetails(request.client, details);
  if (parts(request.responseType).token)
    refuse('invalid_request', 'authorization_details need response_type code: a browser gets no token with them');
}

/** Also finds the resources, to which scopes can belong (RFC 8707 2). */
async function checkScope(
  request: TrustedRequest,
  { resource, scope }: Record<string, string>,
  { findTargets }: CheckRules,
): Promise<void> {
  const { client, responseType } = request;
  const { metadata } = client;
  // the registered scopes by default, as at /authenticate (RFC 6749 3.3)
  const wanted = scope ?? metadata.scope;
  if (wanted.length > maxScope || !isScope(wanted)) refuse('invalid_scope', 'scope must be a list of scope values');
  const asked = splitScope(wanted);
  const registered = splitScope(metadata.scope);
  const targets = await findTargets({ client, resource, scope: asked }, request.details);
  // a browser gets one token, and cannot name a resource for each
  if (parts(responseType).token && targets.length > 1) oneResource(targets.map(({ audience: [uri] }) => uri).join(' '));
  if (parts(responseType).token && targets.some(({ api }) => api && api.binding !== 'none'))
    refuse('invalid_target', 'the resource accepts only tokens that are bound to a key: use response_type code');
  const apiScope = targets.flatMap((target) => target.scope);
  // a request for scopes of APIs, or for details, is plain OAuth 2.0 without it
  if ((apiScope.length === 0 && !request.details) || parts(responseType).idToken) {
    if (!registered.includes('openid')) refuse('invalid_scope', 'the client is not registered for the scope openid');
    if (!asked.includes('openid')) refuse('invalid_scope', 'scope must include openid');
  }
  request.scope = permittedScope(client, targets, asked, scope !== undefined);
  request.targets = targets;
}

function checkClaims(request: TrustedRequest, parameters: Record<string, string>): void {
  const asked = parseClaimsRequest(parameters['claims']);
  const { code, idToken, token } = parts(request.responseType);
  request.subjects = asked.subjects ? [asked.subjects] : [];
  request.claims = singleClaims(asked, request.scope, splitScope(request.client.metadata.scope), {
    userinfo: code || token,
    idToken: code || idToken,
  });
  // the claim of the ID Token takes precedence over acr_values, which is voluntary
  const wanted =
    asked.acr?.values ?? parameters['acr_values']?.split(' ') ?? request.client.metadata.default_acr_values ?? [];
  request.acr = { values: wanted.filter((acr) => acrValues.includes(acr)), essential: asked.acr?.essential ?? false };
  const isPromised = request.client.metadata.require_auth_time === true && request.scope.includes('openid');
  request.needsAuthTime = asked.needsAuthTime || isPromised;
}

function checkAcr({ acr }: TrustedRequest): void {
  if (acr.essential && acr.values.length === 0)
    refuse('unmet_authentication_requirements', 'this service cannot reach the requested acr');
}

function checkNonce(request: TrustedRequest, { nonce }: Record<string, string>): void {
  if (nonce !== undefined && !wellFormed(nonce))
    refuse('invalid_request', `nonce must be well-formed text of at most ${maxOpaque} characters`);
  request.nonce = nonce;
  if (nonce === undefined && parts(request.responseType).idToken)
    refuse('invalid_request', 'nonce is required if the response contains an ID Token');
}

function checkPrompt({ prompts }: TrustedRequest, _parameters: Record<string, string>, rules: CheckRules): void {
  if (!prompts.every((prompt) => rules.prompts.includes(prompt)))
    refuse('invalid_request', 'prompt contains an unknown value');
  // Initiating User Registration 1.0, 4.1
  for (const alone of ['none', 'create'])
    if (prompts.includes(alone) && prompts.length > 1)
      refuse('invalid_request', `prompt=${alone} cannot be combined with other values`);
}

function checkMaxAge(request: TrustedRequest, { max_age: maxAge }: Record<string, string>): void {
  if (maxAge !== undefined && !/^\d{1,9}$/.test(maxAge))
    refuse('invalid_request', 'max_age must be a whole number of seconds');
  request.maxAge = maxAge === undefined ? request.client.metadata.default_max_age : Number(maxAge);
}

/** Only S256 (security R20). */
function checkPkce(request: TrustedRequest, parameters: Record<string, string>, { requirePkce }: CheckRules): void {
  const { code_challenge: challenge, code_challenge_method: method } = parameters;
  const { metadata } = request.client;
  if (challenge === undefined) {
    if (method !== undefined) refuse('invalid_request', 'code_challenge_method requires code_challenge');
    // another application may have the same scheme (RFC 8252 8.4)
    const required =
      requirePkce || metadata.require_pkce || isPublicClient(metadata) || needsAdmission(request.target.redirectUri);
    if (parts(request.responseType).code && required)
      refuse('invalid_request', 'code_challenge is required (PKCE with S256)');
    return;
  }
  if (method !== 'S256') refuse('invalid_request', 'code_challenge_method must be S256');
  if (!isCodeChallenge(challenge)) refuse('invalid_request', 'code_challenge must be 43 characters of base64url');
  request.codeChallenge = challenge;
}

/** The key by which the code must be redeemed (RFC 9449 10). */
function checkDpopKey(request: TrustedRequest, { dpop_jkt: jkt }: Record<string, string>): void {
  if (jkt === undefined) return;
  if (!isThumbprint(jkt)) refuse('invalid_request', 'dpop_jkt must be a SHA-256 thumbprint in base64url');
  request.codeBinding = { jkt };
}
