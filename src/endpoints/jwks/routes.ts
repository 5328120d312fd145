// GET /jwks: the public keys (RFC 7517).
import type { FastifyInstance } from 'fastify';
import { jsonErrors } from '../../http/errors.ts';
import type { ServerOptions } from '../../http/server-options.ts';

/** Seconds that a relying party may keep the set; a new key waits longer than this before it signs. */
export const jwksMaxAge = 300;

export async function jwksEndpoint(app: FastifyInstance, { tokens }: ServerOptions): Promise<void> {
  app.setErrorHandler(jsonErrors);
  app.get('/jwks', { exposeHeadRoute: true }, async (_request, reply) => {
    reply.header('cache-control', `public, max-age=${jwksMaxAge}`).type('application/json');
    return tokens.jwks;
  });
}
