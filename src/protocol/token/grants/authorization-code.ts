// The grant type authorization_code (RFC 6749 4.1.3, RFC 7636, OpenID Connect Core 3.1.3).
import { z } from 'zod';
import { oneResource } from '../../../sender-constraint/audience.ts';
import { readParameters, text } from '../../../server/parameters.ts';
import { invalidGrant, invalidTarget } from '../../../oauth/errors.ts';
import { codeChallenge, isCodeVerifier } from '../../../oauth/pkce.ts';
import { splitScope } from '../../../oauth/scope.ts';
import type { AuditEventType } from '../../../repositories/audit/audit-events.ts';
import type { RedemptionFailure } from '../../../oauth/code-redemption.ts';
import { newOpaqueToken, opaqueTokenHash } from '../../../tokens/opaque-token.ts';
import type { GrantType, TokenResponse } from '../grant-type.ts';
import type { Store } from '../../../repositories/store.ts';
import type { TokenService } from '../../../tokens/token-service.ts';
import type { AuditTrail } from '../../../server/audit.ts';

const shape = z.object({
  code: text(512),
  redirect_uri: text(2000).optional(),
  code_verifier: text(256).optional(),
  resource: text(2000).optional(),
});

const descriptions: Record<RedemptionFailure, string> = {
  unknown: 'the code is not known',
  expired: 'the code has expired',
  ended: 'the authorization is no longer in force',
  client: 'the code was issued to another client',
  redirect_uri: 'redirect_uri differs from that of the authorization request',
  pkce_missing: 'code_verifier is missing',
  pkce_unexpected: 'code_verifier was sent for a request without code_challenge',
  pkce: 'code_verifier does not match code_challenge',
  resource: 'the authorization is not for this resource',
  replayed: 'the code was redeemed before',
  retried: 'the code was redeemed before',
};

/** The failures that stand in the audit trail, beside the one that burns a code. */
const events: Partial<Record<RedemptionFailure, AuditEventType>> = {
  replayed: 'code.replayed',
  client: 'code.misused',
};

interface AuthorizationCodeGrantDependencies {
  store: Pick<Store, 'authorizationCodes'>;
  tokens: TokenService;
  audit: AuditTrail;
}

export function authorizationCodeGrant({ store, tokens, audit }: AuthorizationCodeGrantDependencies): GrantType {
  return {
    name: 'authorization_code',
    allowsPublic: true,
    async handle(request, client) {
      const parameters = readParameters(shape, request.body);
      const codeHash = opaqueTokenHash('authorization_code', parameters.code);
      if (!codeHash) throw invalidGrant(descriptions.unknown);
      const verifier = parameters.code_verifier;
      const lifetimes = tokens.lifetimes(client);
      const accessToken = newOpaqueToken('access_token');
      const refreshToken = client.metadata.grant_types.includes('refresh_token')
        ? newOpaqueToken('refresh_token')
        : undefined;
      const recipient = await tokens.idTokenRecipient(client);
      const handle = client.metadata.uma_profile ? newOpaqueToken('client_session_handle') : undefined;
      const result = await store.authorizationCodes.redeem({
        codeHash,
        clientId: client.clientId,
        redirectUri: parameters.redirect_uri,
        // a verifier of a wrong form matches no challenge, and counts as a failure like any other
        codeChallenge:
          verifier === undefined ? undefined : isCodeVerifier(verifier) ? codeChallenge(verifier) : 'malformed',
        accessTokenHash: accessToken.hash,
        refreshTokenHash: refreshToken?.hash,
        handleHash: handle?.hash,
        resource: oneResource(parameters.resource),
        accessTokenLifetime: lifetimes.accessToken,
        refreshTokenLifetime: lifetimes.refreshToken,
        refreshTokenAbsoluteLifetime: lifetimes.refreshTokenAbsolute,
      });
      if ('failure' in result) {
        const { failure, sub, clientId, burned } = result;
        const type = burned ? 'code.burned' : events[failure];
        if (type) {
          const detail = { failure: burned ? failure : undefined };
          await audit(request, { type, outcome: 'failure', actor: client.clientId, clientId, sub, detail });
        }
        throw failure === 'resource' ? invalidTarget(descriptions.resource) : invalidGrant(descriptions[failure]);
      }
      const { authorization, issuedAt } = result;
      const response: TokenResponse = {
        access_token: accessToken.token,
        token_type: 'Bearer',
        expires_in: lifetimes.accessToken,
        scope: authorization.scope,
      };
      if (refreshToken) response.refresh_token = refreshToken.token;
      if (handle) response.client_session_handle = handle.token;
      if (splitScope(authorization.scope).includes('openid')) {
        response.id_token = await tokens.idToken(client, authorization, {
          at: issuedAt,
          recipient,
          accessToken: accessToken.token,
          nonce: authorization.nonce,
          direct: true,
        });
      }
      request.log.info(
        { client_id: client.clientId, sub: authorization.user.sub, grant_type: 'authorization_code' },
        'tokens issued',
      );
      return response;
    },
  };
}
