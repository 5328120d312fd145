// The grant type refresh_token (RFC 6749 6, RFC 9700 4.14.2, OpenID Connect Core 12).
import { z } from 'zod';
import { oneResource } from '../../../sender-constraint/audience.ts';
import { readParameters, text } from '../../../server/parameters.ts';
import { invalidGrant, invalidScope, invalidTarget } from '../../../oauth/errors.ts';
import { isScope, splitScope } from '../../../oauth/scope.ts';
import type { RefreshFailure } from '../../../oauth/refresh-rotation.ts';
import { newOpaqueToken, opaqueTokenHash } from '../../../tokens/opaque-token.ts';
import type { GrantType, TokenResponse } from '../grant-type.ts';
import type { Store } from '../../../repositories/store.ts';
import type { TokenService } from '../../../tokens/token-service.ts';
import type { AuditTrail } from '../../../server/audit.ts';

const shape = z.object({ refresh_token: text(512), scope: text(1024).optional(), resource: text(2000).optional() });

const descriptions: Record<Exclude<RefreshFailure, 'scope' | 'resource'>, string> = {
  unknown: 'the refresh token is not known',
  client: 'the refresh token was issued to another client',
  ended: 'the authorization is no longer in force',
  expired: 'the refresh token has expired',
  grace: 'the refresh token was used before',
  reused: 'the refresh token was used before, or another one took its place: ask the user to sign in again',
};

interface RefreshTokenGrantDependencies {
  store: Pick<Store, 'refreshTokens'>;
  tokens: TokenService;
  audit: AuditTrail;
}

export function refreshTokenGrant({ store, tokens, audit }: RefreshTokenGrantDependencies): GrantType {
  return {
    name: 'refresh_token',
    allowsPublic: true,
    async handle(request, client) {
      const parameters = readParameters(shape, request.body);
      const tokenHash = opaqueTokenHash('refresh_token', parameters.refresh_token);
      if (!tokenHash) throw invalidGrant(descriptions.unknown);
      if (parameters.scope !== undefined && !isScope(parameters.scope))
        throw invalidScope('scope must be a list of scope values');
      const lifetimes = tokens.lifetimes(client);
      const recipient = await tokens.idTokenRecipient(client);
      const accessToken = newOpaqueToken('access_token');
      const successor = newOpaqueToken('refresh_token');
      const result = await store.refreshTokens.rotate({
        tokenHash,
        clientId: client.clientId,
        scope: parameters.scope === undefined ? undefined : splitScope(parameters.scope),
        resource: oneResource(parameters.resource),
        rotate: tokens.rotates(client),
        accessTokenHash: accessToken.hash,
        refreshTokenHash: successor.hash,
        accessTokenLifetime: lifetimes.accessToken,
        refreshTokenLifetime: lifetimes.refreshToken,
        refreshTokenAbsoluteLifetime: lifetimes.refreshTokenAbsolute,
      });
      if ('failure' in result) {
        const { failure, sub } = result;
        if (failure === 'resource') throw invalidTarget('the authorization is not for this resource');
        if (failure === 'scope') throw invalidScope('scope exceeds what was granted');
        if (failure === 'reused' || failure === 'client') {
          const type = failure === 'reused' ? 'refresh_token.reused' : 'refresh_token.misused';
          await audit(request, { type, outcome: 'failure', actor: client.clientId, clientId: result.clientId, sub });
        }
        throw invalidGrant(descriptions[failure]);
      }
      const { authorization, issuedAt } = result;
      const response: TokenResponse = {
        access_token: accessToken.token,
        token_type: 'Bearer',
        expires_in: lifetimes.accessToken,
        scope: authorization.scope,
        refresh_token: result.rotated ? successor.token : parameters.refresh_token,
      };
      if (splitScope(authorization.scope).includes('openid')) {
        // no nonce: it belongs to the authentication request (Core 12.2)
        response.id_token = await tokens.idToken(client, authorization, {
          at: issuedAt,
          recipient,
          accessToken: accessToken.token,
          direct: true,
        });
      }
      request.log.info(
        { client_id: client.clientId, sub: authorization.user.sub, grant_type: 'refresh_token' },
        'tokens issued',
      );
      return response;
    },
  };
}
