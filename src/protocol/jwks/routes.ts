// GET /jwks: the public keys (RFC 7517).
import type { FastifyInstance } from 'fastify';
import { jsonErrors } from '../../server/errors.ts';
import type { TokenService } from '../../tokens/token-service.ts';

/** Seconds that a relying party may keep the set; a new key waits longer than this before it signs. */
export const jwksMaxAge = 300;
const cacheControl = `public, max-age=${jwksMaxAge}`;

interface JwksDependencies {
  tokens: Pick<TokenService, 'jwks'>;
}

export async function jwksEndpoint(app: FastifyInstance, { tokens }: JwksDependencies): Promise<void> {
  app.setErrorHandler(jsonErrors);
  // the key ring makes a new object when its keys change
  let prepared: { jwks?: object; body: string } = { body: '' };
  app.get('/jwks', { exposeHeadRoute: true }, (_request, reply) => {
    if (prepared.jwks !== tokens.jwks) prepared = { jwks: tokens.jwks, body: JSON.stringify(tokens.jwks) };
    reply.header('cache-control', cacheControl).type('application/json; charset=utf-8').send(prepared.body);
  });
}
