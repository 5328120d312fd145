// Defines the errors of OAuth and OpenID Connect: each has a public description, and a cause that is only logged.

import { type Refusal, sentenceOf } from './refusals.ts';
import { repeated } from './text.ts';
import type { Delivery } from './response-type.ts';

/** Every error code in a response of the service, and where it is registered. */
export const errorCodes = [
  'invalid_request', // RFC 6749 4.1.2.1, 5.2; RFC 6750 3.1
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'access_denied',
  'unsupported_response_type',
  'server_error',
  'temporarily_unavailable',
  'invalid_token', // RFC 6750 3.1
  'insufficient_scope',
  'insufficient_user_authentication', // RFC 9470 3
  'interaction_required', // OpenID Connect Core 3.1.2.6
  'login_required',
  'consent_required',
  'unmet_authentication_requirements', // OpenID Connect Core Unmet Authentication Requirements 1.0
  'request_not_supported', // OpenID Connect Core 3.1.2.6
  'request_uri_not_supported',
  'registration_not_supported',
  'invalid_request_uri',
  'invalid_request_object',
  'invalid_redirect_uri', // RFC 7591 3.2.2
  'invalid_client_metadata',
  'authorization_pending', // RFC 8628 3.5
  'slow_down',
  'expired_token',
  'unknown_user_id', // OpenID Connect CIBA Core 13
  'invalid_binding_message',
  'invalid_registration', // draft-dellaert-oauth-approval-based-dcr
  'unsupported_token_type', // RFC 7009 2.2.1
  'invalid_target', // RFC 8707 2
  'invalid_authorization_details', // RFC 9396 5
  'invalid_dpop_proof', // RFC 9449 5, 7.1
  'use_dpop_nonce', // RFC 9449 8, 9
  'not_found',
  'conflict',
  'kept_by_file',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** What only the operator learns of a refusal, by the name of the fact: no secret, and no value of a query (shown-address.ts). */
export type RefusalFacts = Readonly<Record<string, string | readonly string[]>>;

/** A refused request. `description` is public: ASCII without quotes and backslashes (RFC 6749 5.2). `cause` is only logged. */
export class OAuthError extends Error {
  readonly code: ErrorCode;
  readonly description: string;
  /** The reason as data, for callers that recognise it. */
  readonly refusal: Refusal | undefined;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Further members of the body and of the bearer challenge. */
  readonly parameters: Readonly<Record<string, string | number>>;
  /** Further parameters of the bearer challenge only. */
  readonly challenge: Readonly<Record<string, string>>;
  /** Logged, and kept for the reference that a page shows. */
  readonly facts: RefusalFacts;
  constructor(
    code: ErrorCode,
    reason: string | Refusal,
    status = 400,
    options: {
      cause?: unknown;
      headers?: Record<string, string>;
      parameters?: Record<string, string | number>;
      challenge?: Record<string, string>;
      facts?: RefusalFacts;
    } = {},
  ) {
    // no stack trace: a refusal is an ordinary response, and a trace would cost more than most responses
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    const description =
      typeof reason === 'string'
        ? reason
        : sentenceOf(reason) + (reason.value === undefined ? '' : repeated(reason.value));
    super(`${code}: ${description}`, 'cause' in options ? { cause: options.cause } : undefined);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.description = description.replace(/[^\x20-\x7e]|["\\]/g, "'");
    this.status = status;
    this.refusal = typeof reason === 'string' ? undefined : reason;
    this.headers = options.headers ?? {};
    this.parameters = options.parameters ?? {};
    this.challenge = options.challenge ?? {};
    this.facts = options.facts ?? {};
  }
}

/** Where and how an authorization response is sent. Only a verified request has a target. */
export interface ResponseTarget {
  readonly redirectUri: string;
  readonly delivery: Delivery;
  /** The client that reads the response as a JWT (JARM); undefined for plain parameters. */
  readonly jwtAudience: string | undefined;
  readonly state: string | undefined;
}

/** An error that the client gets as its response, in the terms of its protocol. */
export abstract class ResponseError extends Error {}

/** An error that the browser takes to the client (RFC 6749 4.1.2.1). It cannot be constructed without a verified redirect URI. */
export class AuthorizationError extends ResponseError {
  readonly code: ErrorCode;
  readonly description: string;
  readonly target: ResponseTarget;
  constructor(target: ResponseTarget, code: ErrorCode, description: string) {
    super(`${code}: ${description}`);
    this.target = target;
    this.code = code;
    this.description = description.replace(/[^\x20-\x7e]|["\\]/g, "'");
  }
}

export const invalidRequest = (reason: string | Refusal) => new OAuthError('invalid_request', reason);
export const invalidGrant = (description: string) => new OAuthError('invalid_grant', description);
export const invalidTarget = (description: string) => new OAuthError('invalid_target', description);
export const invalidAuthorizationDetails = (description: string) =>
  new OAuthError('invalid_authorization_details', description);
export const invalidScope = (description: string) => new OAuthError('invalid_scope', description);
export const unsupportedGrantType = (description: string) => new OAuthError('unsupported_grant_type', description);
export const unauthorizedClient = (description: string, status = 400) =>
  new OAuthError('unauthorized_client', description, status);
export const invalidClientMetadata = (reason: string | Refusal) => new OAuthError('invalid_client_metadata', reason);
export const invalidRedirectUri = (reason: string | Refusal) => new OAuthError('invalid_redirect_uri', reason);
export const invalidToken = (description: string) => new OAuthError('invalid_token', description, 401);
export const insufficientScope = (description: string) => new OAuthError('insufficient_scope', description, 403);
/** @param maxAge the greatest age of the sign-in, in seconds @param acr the required authentication context (RFC 9470 3) */
export const insufficientAuthentication = (maxAge: number, acr?: string) =>
  new OAuthError(
    'insufficient_user_authentication',
    acr === undefined
      ? `this requires a sign-in within the last ${maxAge} seconds: request authorization with max_age=${maxAge}, then use the new token`
      : `this requires a sign-in with a second factor: request authorization with acr_values=${acr} and max_age=${maxAge}, then use the new token`,
    401,
    { parameters: { max_age: maxAge, ...(acr !== undefined && { acr_values: acr }) } },
  );
/** @param status 401 where the proof goes with an access token (RFC 9449 7.1) */
export const invalidDpopProof = (description: string, status = 400) =>
  new OAuthError('invalid_dpop_proof', description, status);
/** The proof was used before (RFC 9449 11.1). */
export const proofReused = (status = 400) =>
  invalidDpopProof('the DPoP proof was already used: make a new one for each request', status);
/** The client or the resource takes only bound tokens, and the request has no proof. */
export const proofMissing = (who: 'client' | 'resource') =>
  invalidDpopProof(`the ${who} accepts only tokens that are bound to a key: send a DPoP proof`);
/** The client gets only bound tokens, and the request has neither a certificate nor a proof (RFC 8705 3). */
export const certificateMissing = () =>
  invalidRequest(
    'the client gets only tokens that are bound to a key: send the request to the mTLS address, with the certificate',
  );
/** @param nonce that the next proof has to contain */
export const useDpopNonce = (nonce: string, status = 400) =>
  new OAuthError(
    'use_dpop_nonce',
    'repeat the request with a new DPoP proof that has the nonce of this response',
    status,
    {
      headers: { 'dpop-nonce': nonce },
    },
  );
export const accessDenied = (description: string) => new OAuthError('access_denied', description, 403);
export const notFound = (reason: string | Refusal) => new OAuthError('not_found', reason, 404);
export const conflict = (reason: string | Refusal) => new OAuthError('conflict', reason, 409);
/** A set of configuration files keeps it (federation 10). */
export const keptByFile = (reason: Refusal) => new OAuthError('kept_by_file', reason, 409);

/** Client authentication failed (RFC 6749 5.2). The response is the same for every reason (security R39). */
export const invalidClient = (cause?: string) =>
  new OAuthError(
    'invalid_client',
    'client authentication failed: check client_id, the credentials and the registered method',
    401,
    {
      cause,
      headers: { 'www-authenticate': 'Basic realm="gatehouse", charset="UTF-8"' },
    },
  );

/** Why a client is not served that follows no profile, or a lower one than the setting FAPI2 demands. */
export const profileMissing =
  'this service serves only clients that follow its FAPI 2.0 profile: register the client metadata fapi2';

/** A disabled client authenticated with valid credentials (decisions section 2). */
export const clientDisabled = (status = 400) =>
  unauthorizedClient('this client is registered but not enabled: an administrator must approve it first', status);
