// Who may call the admin routes: a Bearer access token with the scope admin, of an administrator or of a client that was given it.
import type { FastifyRequest } from 'fastify';
import { insufficientScope, invalidToken } from '../oauth/errors.ts';
import { splitScope } from '../oauth/scope.ts';
import type { Repositories } from '../repositories/index.ts';
import { opaqueTokenHash } from '../tokens/opaque-token.ts';
import { bearerToken } from './bearer-token.ts';

/**
 * Returns who acts: a subject or a client id.
 * @throws OAuthError invalid_token or insufficient_scope
 */
export async function requireAdministrator(
  request: FastifyRequest,
  store: Pick<Repositories, 'accessTokens'>,
): Promise<string> {
  const hash = opaqueTokenHash('access_token', bearerToken(request));
  const token = hash && (await store.accessTokens.find(hash));
  if (!token) throw invalidToken('the access token is unknown, expired or revoked');
  if (!splitScope(token.scope).includes('admin') || (token.user && !token.user.admin)) {
    throw insufficientScope(
      'this needs an access token with the scope admin, of an administrator or of a client that was given it',
    );
  }
  return token.user?.sub ?? token.clientId;
}
