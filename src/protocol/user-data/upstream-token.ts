// Serves GET /user/{sub}/connections/{id}/token: an access token that a connection of the user gave, for a client that may read it (federation 4).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ConnectionFailure } from '../../domain/connections/kind.ts';
import type { UpstreamTokens } from '../../domain/connections/upstream-tokens.ts';
import { accessDenied, insufficientScope, notFound, OAuthError } from '../../oauth/errors.ts';
import { text } from '../../oauth/text.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { AuditTrail } from '../../server/audit.ts';
import { readParameters } from '../../server/parameters.ts';
import type { Access } from './user-access.ts';

const byConnection = z.object({ id: text(40) });

export interface UpstreamTokenDependencies {
  clients: ClientCache;
  upstreamTokens: UpstreamTokens;
  audit: AuditTrail;
}

export function upstreamTokenRoute(
  app: FastifyInstance,
  { clients, upstreamTokens, audit }: UpstreamTokenDependencies,
  allow: (request: FastifyRequest, reply: FastifyReply) => Promise<Access>,
): void {
  app.get('/user/:sub/connections/:id/token', async (request, reply) => {
    const { user, clientId, scopes } = await allow(request, reply);
    const { id } = readParameters(byConnection, request.params);
    if (!scopes.includes('upstream_token')) throw insufficientScope('this requires the scope upstream_token');
    // an administrator decides for each client and connection; a registration cannot
    const client = await clients.find(clientId);
    if (!client?.upstreamTokens.includes(id)) throw accessDenied('the client may not read tokens of this connection');
    const found = await upstreamTokens.accessOf(id, user.sub).catch((error: unknown) => {
      if (!(error instanceof ConnectionFailure)) throw error;
      throw new OAuthError('temporarily_unavailable', 'the connection does not answer: try again soon', 503, {
        headers: { 'retry-after': '5' },
        cause: error,
      });
    });
    if (!found) throw notFound('there is no valid token: the user must sign in with this connection again');
    await audit(request, {
      type: 'upstream_token.read',
      outcome: 'success',
      actor: clientId,
      clientId,
      sub: user.sub,
      detail: { connection: id },
    });
    const { accessToken, scope, expiresAt } = found;
    return { access_token: accessToken, token_type: 'Bearer', expires_at: expiresAt && Math.floor(expiresAt), scope };
  });
}
