// Serves GET /connections/{id}/jwks: the public key with which this service authenticates at the provider of a connection (private_key_jwt).
import type { FastifyInstance } from 'fastify';
import { notFound } from '../../oauth/errors.ts';
import { jsonErrors } from '../../server/errors.ts';
import { idOf, type LoginConnectionsDependencies } from './login-connections.ts';

/** Seconds for which the provider may cache the key. */
const maxAge = 300;

export function keyRoutes(app: FastifyInstance, { store }: Pick<LoginConnectionsDependencies, 'store'>): void {
  app.get('/connections/:id/jwks', { errorHandler: jsonErrors }, async (request, reply) => {
    const id = idOf(request);
    const found = /^[a-z][a-z0-9-]{1,39}$/.test(id) ? await store.connections.find(id) : undefined;
    // that of a connection by SAML is in its metadata, as a certificate
    if (!found?.keyPublic || found.kind === 'saml') throw notFound('there is no such key');
    return reply
      .header('cache-control', `public, max-age=${maxAge}`)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify({ keys: [found.keyPublic] }));
  });
}
