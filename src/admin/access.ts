// Checks that a request to the admin routes has an access token of an administrator, or of a client that may have the scope.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { multiFactor } from '../oauth/acr.ts';
import { insufficientAuthentication, insufficientScope } from '../oauth/errors.ts';
import { type AdministratorScope, splitScope } from '../oauth/scope.ts';
import { maxAuthAge } from '../browser/recent-sign-in.ts';
import { type ProtectedResource, requireAccessToken } from '../sender-constraint/protected-resource.ts';
import type { Store } from '../repositories/store.ts';

export interface AdministratorAccess extends ProtectedResource {
  store: Pick<Store, 'accessTokens' | 'secondFactors'>;
}

/**
 * Returns the actor: the subject of an administrator, or a client id.
 * @param scopes any one of them is enough; a user must also be an administrator
 * @param fresh whether a user must have authenticated recently, with a second factor if the user has one; does not apply to a client
 * @throws OAuthError invalid_token, insufficient_scope or insufficient_user_authentication
 */
export async function requireAdministrator(
  request: FastifyRequest,
  reply: FastifyReply,
  resource: AdministratorAccess,
  scopes: readonly AdministratorScope[] = ['admin'],
  fresh = false,
): Promise<string> {
  const token = await requireAccessToken(resource, request, reply);
  const given = splitScope(token.scope);
  if (!scopes.some((scope) => given.includes(scope)) || (token.user && !token.user.admin)) {
    throw insufficientScope(
      `this needs an access token with the scope ${scopes.join(' or ')}, of an administrator or of a client that was given it`,
    );
  }
  if (!token.user) return token.clientId;
  const { sub } = token.user;
  if (fresh && (token.authenticationAge ?? Infinity) > maxAuthAge) throw insufficientAuthentication(maxAuthAge);
  // a token from before the user set up a second factor is no longer enough
  if (fresh && !token.amr?.includes('mfa') && (await resource.store.secondFactors.mfaStatus(sub))?.enrolled)
    throw insufficientAuthentication(maxAuthAge, multiFactor);
  return sub;
}
