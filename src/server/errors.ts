// Writes error responses: JSON (RFC 6749 5.2) and bearer (RFC 6750 3); pages write theirs in pages/page-response.ts.
import { randomUUID } from 'node:crypto';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { PasswordQueueFull } from '../domain/rate-limits/password-queue.ts';
import { DatabaseUnavailable, isForeignKeyViolation, isInvalidValue } from '../database/database.ts';
import { dpopAlgorithms } from '../oauth/dpop-proof.ts';
import { errorUri } from '../oauth/error-meanings.ts';
import { type ErrorCode, OAuthError } from '../oauth/errors.ts';

/** The refusal of a request that the service cannot answer now, although the request may be valid (security R79, R108). */
export const unavailable = (
  cause: unknown,
  description = 'the service is temporarily unavailable: try again in a moment',
): OAuthError =>
  new OAuthError('temporarily_unavailable', description, 503, { cause, headers: { 'retry-after': '2' } });

/** Turns any error into a refusal that the client may see; the cause of an unexpected error goes to the log only (security R100). */
export function toOAuthError(error: unknown): OAuthError {
  if (error instanceof OAuthError) return error;
  if (error instanceof PasswordQueueFull) return unavailable(error, 'too many sign-ins at once: try again in a moment');
  if (error instanceof DatabaseUnavailable || (error as FastifyError).statusCode === 503) return unavailable(error);
  if (isForeignKeyViolation(error)) {
    return new OAuthError('conflict', 'an object of this request no longer exists: start again', 409, { cause: error });
  }
  if (isInvalidValue(error))
    return new OAuthError('invalid_request', 'the request contains a value that is not allowed', 400, { cause: error });
  const { statusCode } = error as FastifyError;
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new OAuthError(
      'invalid_request',
      frameworkRefusals[statusCode] ?? 'the request could not be read',
      statusCode,
      { cause: error },
    );
  }
  return new OAuthError('server_error', 'something went wrong on our side', 500, { cause: error });
}

const frameworkRefusals: Record<number, string> = {
  400: 'the request could not be read: check its encoding',
  408: 'the request took too long to arrive',
  413: 'the request is too large',
  414: 'the URL is too long',
  415: 'the content type is not supported here',
  417: 'of Expect only 100-continue is known',
  431: 'the headers are too large',
};

export function noStore(reply: FastifyReply): FastifyReply {
  return reply.header('cache-control', 'no-store').header('pragma', 'no-cache');
}

/** The error handler for RFC 6749 5.2: `error` and `error_description`. */
export function jsonErrors(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply.send(jsonRefusal(toOAuthError(error), request, reply));
}

/** The error handler of the endpoints whose errors RFC 6749 5.2 defines: the same, with `error_uri`. */
export const oauthErrors =
  (issuer: string) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    reply.send(jsonRefusal(toOAuthError(error), request, reply, issuer));

/**
 * Sends the same response from a handler, which is cheaper than an error that Fastify passes to the error handler.
 * @param issuer whose page explains the error; undefined for a body without `error_uri`
 */
export function jsonRefusal(
  refusal: OAuthError,
  request: FastifyRequest,
  reply: FastifyReply,
  issuer?: string,
): object {
  const reference = logRefusal(refusal, request);
  noStore(reply).code(refusal.status).headers(refusal.headers);
  return {
    error: refusal.code,
    error_description: refusal.status >= 500 ? `${refusal.description} (reference ${reference})` : refusal.description,
    ...(issuer !== undefined && { error_uri: errorUri(issuer, refusal.code) }),
    ...refusal.parameters,
  };
}

const challengedCodes: readonly ErrorCode[] = [
  'invalid_token',
  'insufficient_scope',
  'insufficient_user_authentication',
  'invalid_request',
  'invalid_dpop_proof',
  'use_dpop_nonce',
];

/** The challenge of the addresses that take Bearer tokens only (RFC 6750 3). */
export const bearerChallenge = 'Bearer realm="gatehouse"';
const dpopChallenge = `DPoP algs="${dpopAlgorithms.join(' ')}"`;
/** The challenge of protected resources, which also take tokens with a proof (RFC 9449 7.1). */
export const resourceChallenge = `${bearerChallenge}, ${dpopChallenge}`;

/** The error handler for RFC 6750 3: the same, with a challenge. */
export function bearerErrors(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = toOAuthError(error);
  if (isChallenged(refusal)) reply.header('www-authenticate', bearerChallenge + challengeParameters(refusal));
  return jsonErrors(refusal, request, reply);
}

/** The error handler of protected resources: the challenge of the scheme that the request used comes first, with the error. */
export function resourceErrors(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = toOAuthError(error);
  if (isChallenged(refusal)) reply.header('www-authenticate', resourceChallengeOf(refusal, request));
  return jsonErrors(refusal, request, reply);
}

/** The challenge of a protected resource with an error. */
export function resourceChallengeOf(refusal: OAuthError, { headers }: FastifyRequest): string {
  const usesDpop = /^DPoP /i.test(headers.authorization ?? '');
  const [used, other] = usesDpop ? [dpopChallenge, bearerChallenge] : [bearerChallenge, dpopChallenge];
  return `${used}${challengeParameters(refusal)}, ${other}`;
}

const isChallenged = ({ code, status }: OAuthError): boolean => challengedCodes.includes(code) && status < 500;

const challengeParameters = ({ code, description, parameters, challenge }: OAuthError): string =>
  Object.entries({ error: code, error_description: description, ...parameters, ...challenge })
    .map(([name, value]) => `, ${name}="${value}"`)
    .join('');

/** The reference of a refusal, which its page shows and the log or the audit trail has. */
export const newReference = (): string => randomUUID().slice(0, 8);

/** Logs a refusal with the details that only the operator may see, and returns the reference for the answer (security R100). */
export function logRefusal(refusal: OAuthError, request: FastifyRequest): string {
  const reference = newReference();
  const line = {
    reference,
    code: refusal.code,
    status: refusal.status,
    description: refusal.description,
    err: refusal.cause,
    ...refusal.facts,
  };
  if (refusal.status >= 500) request.log.error(line, 'request failed');
  else request.log.info(line, 'request refused');
  return reference;
}
