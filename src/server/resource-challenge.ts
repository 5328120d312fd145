// Tells a client that is refused at a protected resource where the metadata of the resource are, and which scope it needs (RFC 9728 5.1).
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, OAuthError } from '../oauth/errors.ts';
import { resourceMetadataUri } from '../oauth/resource-metadata.ts';
import { toOAuthError } from './errors.ts';

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;

const bearer = /^Bearer realm="[^"]*"/;
/** The refusals that a new token resolves. */
const codes: readonly ErrorCode[] = ['invalid_token', 'insufficient_scope', 'insufficient_user_authentication'];

/**
 * Adds `resource_metadata` and `scope` to the challenges that another error handler writes.
 * @param resource the URI of the resource
 * @param scope the least that the address of a request needs (Model Context Protocol, Authorization)
 */
export function withResourceMetadata(
  handler: ErrorHandler,
  resource: string,
  scope: (request: FastifyRequest) => string,
): ErrorHandler {
  const metadata = resourceMetadataUri(resource)!;
  return (error, request, reply) => {
    const refusal = toOAuthError(error);
    const { 'www-authenticate': challenge = '', ...headers } = refusal.headers;
    const isNew = codes.includes(refusal.code);
    if (!isNew && !bearer.test(challenge)) return handler(refusal, request, reply);
    const members = { resource_metadata: metadata, scope: scope(request) };
    const text = Object.entries(members).map(([name, value]) => `, ${name}="${value}"`);
    const told = new OAuthError(refusal.code, refusal.refusal ?? refusal.description, refusal.status, {
      ...(refusal.cause !== undefined && { cause: refusal.cause }),
      headers: {
        ...headers,
        ...(challenge && { 'www-authenticate': challenge.replace(bearer, (own) => own + text.join('')) }),
      },
      parameters: refusal.parameters,
      ...(isNew && { challenge: members }),
    });
    return handler(told, request, reply);
  };
}
