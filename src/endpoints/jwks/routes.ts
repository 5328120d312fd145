// GET /jwks: the public keys (RFC 7517).
import type { FastifyInstance } from 'fastify';
import { jsonErrors } from '../../http/errors.ts';
import type { ServerOptions } from '../../http/server-options.ts';

/** Seconds that a relying party may keep the set; a new key waits longer than this before it signs. */
export const jwksMaxAge = 300;
const cacheControl = `public, max-age=${jwksMaxAge}`;

export async function jwksEndpoint(app: FastifyInstance, { tokens, constants }: ServerOptions): Promise<void> {
  app.setErrorHandler(jsonErrors);
  // the same object until the ring is read again
  const onSend = constants.keep(() => tokens.jwks);
  app.get('/jwks', { exposeHeadRoute: true, onSend }, (_request, reply) => {
    reply.header('cache-control', cacheControl).type('application/json; charset=utf-8').send(tokens.jwks);
  });
}
