// Serves GET /jwks: the public signing keys (RFC 7517).
import type { FastifyInstance } from 'fastify';
import { jsonErrors } from '../../server/errors.ts';
import type { TokenService } from '../../tokens/token-service.ts';

/** Seconds for which a relying party may cache the set; a new key signs nothing until that time is over. */
const jwksMaxAge = 300;
const cacheControl = `public, max-age=${jwksMaxAge}`;

interface JwksDependencies {
  tokens: Pick<TokenService, 'jwks'>;
}

export async function jwksEndpoint(app: FastifyInstance, { tokens }: JwksDependencies): Promise<void> {
  app.setErrorHandler(jsonErrors);
  // serialized again only when the key ring makes a new object, which it does when its keys change
  let prepared: { jwks?: object; body: string } = { body: '' };
  app.get('/jwks', { exposeHeadRoute: true }, (_request, reply) => {
    if (prepared.jwks !== tokens.jwks) prepared = { jwks: tokens.jwks, body: JSON.stringify(tokens.jwks) };
    reply.header('cache-control', cacheControl).type('application/json; charset=utf-8').send(prepared.body);
  });
}
