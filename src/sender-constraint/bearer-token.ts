// The bearer token of a request (RFC 6750 2.1: the Authorization header only).
import type { FastifyRequest } from 'fastify';
import { OAuthError } from '../oauth/errors.ts';

/**
 * The token in the Authorization header.
 * @throws OAuthError 401 without an error code's details when there is none (RFC 6750 3.1)
 */
export function bearerToken(request: FastifyRequest): string {
  const header = request.headers.authorization;
  const match = header === undefined ? null : /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header);
  if (!match) {
    throw new OAuthError('invalid_request', 'send the token as: Authorization: Bearer TOKEN', 401, {
      headers: { 'www-authenticate': 'Bearer realm="gatehouse"' },
    });
  }
  return match[1]!;
}
