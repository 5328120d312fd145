// Redeems an authorization code (RFC 6749 section 4.1.3, RFC 7636, OpenID Connect Core 3.1.3).
import { z } from 'zod';
import { invalidGrant, invalidTarget } from '../../../oauth/errors.ts';
import { codeChallenge, isCodeVerifier } from '../../../oauth/pkce.ts';
import type { Store } from '../../../repositories/store.ts';
import type { RedemptionFailure } from '../../../oauth/code-redemption.ts';
import { repeated, text } from '../../../oauth/text.ts';
import { opaqueTokenHash } from '../../../tokens/opaque-token.ts';
import { eventOfRefusedCode } from '../../../tokens/refused-code.ts';
import { withLifetimeOf } from '../../../tokens/token-issuer.ts';
import { beyondDetails, bindingRefusals, type GrantType } from '../grant-type.ts';

const parameters = z.object({
  code: text(512),
  redirect_uri: text(2000).optional(),
  code_verifier: text(256).optional(),
});

const descriptions: Record<Exclude<RedemptionFailure, keyof typeof bindingRefusals | 'details'>, string> = {
  unknown: 'the code is unknown',
  expired: 'the code has expired',
  ended: 'the authorization is no longer valid',
  client: 'the code was issued to another client',
  redirect_uri: 'redirect_uri differs from that of the authorization request',
  pkce_missing: 'code_verifier is missing',
  pkce_unexpected: 'code_verifier was sent for a request without code_challenge',
  pkce: 'code_verifier does not match code_challenge',
  key: 'the code is bound to a key: send a DPoP proof that is signed with this key',
  resource: 'the authorization is not for this resource',
  replayed: 'the code was already used',
  retried: 'the code was already used',
};

export function authorizationCodeGrant({
  store,
}: {
  store: Pick<Store, 'authorizationCodes'>;
}): GrantType<z.infer<typeof parameters>> {
  return {
    name: 'authorization_code',
    asksNetwork: false,
    parameters,
    takesDetails: true,
    async authorize(
      { code, redirect_uri: redirectUri, code_verifier: verifier },
      { client, resource, details, proof, prepare },
    ) {
      const codeHash = opaqueTokenHash('authorization_code', code);
      if (!codeHash) return { refusal: invalidGrant(descriptions.unknown) };
      const tokens = await prepare(['id_token', 'refresh_token', 'client_session_handle']);
      const result = await store.authorizationCodes.redeem({
        codeHash,
        clientId: client.clientId,
        redirectUri,
        // a malformed verifier matches no challenge, and counts as a failure like a wrong one
        codeChallenge:
          verifier === undefined ? undefined : isCodeVerifier(verifier) ? codeChallenge(verifier) : 'malformed',
        accessTokenHash: tokens.accessToken.hash,
        refreshTokenHash: tokens.refreshToken?.hash,
        handleHash: tokens.handle?.hash,
        ...tokens.bindings,
        proof,
        resource,
        details,
        retrySeconds: client.rules.retrySeconds,
        accessTokenLifetime: tokens.lifetimes.accessToken,
        refreshTokenLifetime: tokens.lifetimes.refreshToken,
        refreshTokenAbsoluteLifetime: tokens.lifetimes.refreshTokenAbsolute,
      });
      if (!('failure' in result)) {
        const { nonce } = result.authorization;
        return { ...result, tokens: withLifetimeOf(result, tokens), nonce, refreshToken: tokens.refreshToken?.token };
      }
      const { failure } = result;
      const refusal =
        failure === 'unbound' || failure === 'proof'
          ? bindingRefusals[failure]()
          : failure === 'details'
            ? beyondDetails()
            : failure === 'resource'
              ? invalidTarget(`${descriptions.resource}${repeated(resource ?? '')}`)
              : invalidGrant(descriptions[failure]);
      const event = eventOfRefusedCode(result);
      return event ? { refusal, event } : { refusal, isUnbound: failure === 'unbound' };
    },
  };
}
