// GET /jwks: the public keys (RFC 7517).
import type { FastifyInstance } from 'fastify';
import { jsonErrors } from '../../server/errors.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import type { ConstantAnswers } from '../../server/constant-answers.ts';

/** Seconds that a relying party may keep the set; a new key waits longer than this before it signs. */
export const jwksMaxAge = 300;
const cacheControl = `public, max-age=${jwksMaxAge}`;

interface JwksDependencies {
  tokens: TokenService;
  constants: ConstantAnswers;
}

export async function jwksEndpoint(app: FastifyInstance, { tokens, constants }: JwksDependencies): Promise<void> {
  app.setErrorHandler(jsonErrors);
  // the same object until the ring is read again
  const onSend = constants.keep(() => tokens.jwks);
  app.get('/jwks', { exposeHeadRoute: true, onSend }, (_request, reply) => {
    reply.header('cache-control', cacheControl).type('application/json; charset=utf-8').send(tokens.jwks);
  });
}
