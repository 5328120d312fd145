// Uses a refresh token (RFC 6749 section 6, RFC 9700 section 4.14.2, OpenID Connect Core 12).
import { z } from 'zod';
import type { Config } from '../../../config.ts';
import { invalidGrant, invalidScope, invalidTarget } from '../../../oauth/errors.ts';
import { isScope, splitScope } from '../../../oauth/scope.ts';
import type { AuditEventType } from '../../../repositories/audit/audit-events.ts';
import type { Store } from '../../../repositories/store.ts';
import type { RefreshFailure } from '../../../oauth/refresh-rotation.ts';
import { repeated, text } from '../../../oauth/text.ts';
import { opaqueTokenHash } from '../../../tokens/opaque-token.ts';
import type { TokenService } from '../../../tokens/token-service.ts';
import { withLifetimeOf } from '../../../tokens/token-issuer.ts';
import { beyondDetails, bindingRefusals, type GrantType } from '../grant-type.ts';

const parameters = z.object({ refresh_token: text(512), scope: text(1024).optional() });

const descriptions: Record<Exclude<RefreshFailure, keyof typeof bindingRefusals | 'details'>, string> = {
  unknown: 'the refresh token is unknown',
  client: 'the refresh token was issued to another client',
  key: 'the refresh token is bound to a key: send a DPoP proof that is signed with this key, or come with this certificate',
  ended: 'the authorization is no longer valid',
  expired: 'the refresh token has expired',
  scope: 'scope exceeds what was granted',
  resource: 'the authorization is not for this resource',
  grace: 'the refresh token was already used',
  reused: 'the refresh token was already used or replaced: ask the user to sign in again',
};

/** The failures that the audit log records. */
const events: Partial<Record<RefreshFailure, AuditEventType>> = {
  reused: 'refresh_token.reused',
  client: 'refresh_token.misused',
  proof: 'dpop.replayed',
};

interface RefreshTokenGrantDependencies {
  config: Pick<Config, 'lifetimes'>;
  store: Pick<Store, 'refreshTokens'>;
  tokens: Pick<TokenService, 'rotates'>;
}

export function refreshTokenGrant({
  config,
  store,
  tokens: { rotates },
}: RefreshTokenGrantDependencies): GrantType<z.infer<typeof parameters>> {
  return {
    name: 'refresh_token',
    asksNetwork: true,
    parameters,
    takesDetails: true,
    async authorize({ refresh_token: presented, scope }, { client, resource, details, address, proof, prepare }) {
      const tokenHash = opaqueTokenHash('refresh_token', presented);
      if (!tokenHash) return { refusal: invalidGrant(descriptions.unknown) };
      if (scope !== undefined && !isScope(scope))
        return { refusal: invalidScope('scope must be a list of scope values') };
      const tokens = await prepare(['id_token', 'refresh_token']);
      const result = await store.refreshTokens.rotate({
        tokenHash,
        clientId: client.clientId,
        scope: scope === undefined ? undefined : splitScope(scope),
        resource,
        details,
        rotate: rotates(client),
        graceSeconds: config.lifetimes.refreshTokenGrace,
        accessTokenHash: tokens.accessToken.hash,
        refreshTokenHash: tokens.refreshToken!.hash,
        binding: tokens.bindings.binding,
        binds: client.rules.isPublic,
        proof,
        address: address(),
        accessTokenLifetime: tokens.lifetimes.accessToken,
        refreshTokenLifetime: tokens.lifetimes.refreshToken,
        refreshTokenAbsoluteLifetime: tokens.lifetimes.refreshTokenAbsolute,
      });
      if (!('failure' in result)) {
        const { authorization, issuedAt, rotated, jwt } = result;
        // without a nonce, which belongs to the authentication request (Core 12.2)
        const refreshToken = rotated ? tokens.refreshToken!.token : presented;
        return { tokens: withLifetimeOf(result, tokens), authorization, issuedAt, refreshToken, jwt };
      }
      const { failure, clientId, sub } = result;
      const refusal =
        failure === 'unbound' || failure === 'proof'
          ? bindingRefusals[failure]()
          : failure === 'details'
            ? beyondDetails()
            : failure === 'resource'
              ? invalidTarget(`${descriptions.resource}${repeated(resource ?? '')}`)
              : (failure === 'scope' ? invalidScope : invalidGrant)(descriptions[failure]);
      const type = events[failure];
      // nothing is used up by either
      const isUnbound = failure === 'unbound' || failure === 'key';
      return type ? { refusal, event: { type, clientId, sub } } : { refusal, isUnbound };
    },
  };
}
