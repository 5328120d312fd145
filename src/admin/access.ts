// Who may call the admin routes: a Bearer access token with the scope admin, of an administrator or of a client that was given it.
import type { FastifyRequest } from 'fastify';
import { multiFactor } from '../oauth/acr.ts';
import { insufficientAuthentication, insufficientScope, invalidToken } from '../oauth/errors.ts';
import { type AdministratorScope, splitScope } from '../oauth/scope.ts';
import { opaqueTokenHash } from '../tokens/opaque-token.ts';
import { requireAudience } from '../sender-constraint/audience.ts';
import { maxAuthAge } from '../browser/recent-sign-in.ts';
import { bearerToken } from '../sender-constraint/bearer-token.ts';
import type { Config } from '../config.ts';
import type { Store } from '../repositories/store.ts';

export interface AdministratorAccess {
  config: Pick<Config, 'issuer'>;
  store: Pick<Store, 'accessTokens' | 'secondFactors'>;
}

/**
 * Returns who acts: a subject or a client id.
 * @param scopes each of them is enough; for people only as administrators
 * @param fresh whether a person must have shown the password lately, and the second factor if there is one; a client that was given the scope always shows its secret
 * @throws OAuthError invalid_token, insufficient_scope or insufficient_user_authentication
 */
export async function requireAdministrator(
  request: FastifyRequest,
  { config, store }: AdministratorAccess,
  scopes: readonly AdministratorScope[] = ['admin'],
  fresh = false,
): Promise<string> {
  const hash = opaqueTokenHash('access_token', bearerToken(request));
  const token = hash && (await store.accessTokens.find(hash));
  if (!token) throw invalidToken('the access token is unknown, expired or revoked');
  requireAudience(config.issuer, token, request);
  const given = splitScope(token.scope);
  if (!scopes.some((scope) => given.includes(scope)) || (token.user && !token.user.admin)) {
    throw insufficientScope(
      `this needs an access token with the scope ${scopes.join(' or ')}, of an administrator or of a client that was given it`,
    );
  }
  if (!token.user) return token.clientId;
  const { sub } = token.user;
  if (fresh && (token.authenticationAge ?? Infinity) > maxAuthAge) throw insufficientAuthentication(maxAuthAge);
  // a token from before there was one does not speak for the person any more
  if (fresh && !token.amr?.includes('mfa') && (await store.secondFactors.mfaStatus(sub))?.enrolled)
    throw insufficientAuthentication(maxAuthAge, multiFactor);
  return sub;
}
