// Answers the polls of a device, with tokens once its user has approved (RFC 8628 sections 3.4 and 3.5).
import { z } from 'zod';
import { type ErrorCode, invalidTarget, OAuthError } from '../../../oauth/errors.ts';
import { deviceGrant } from '../../../oauth/registrable-values.ts';
import { repeated, text } from '../../../oauth/text.ts';
import type { AuditEventType } from '../../../repositories/audit/audit-events.ts';
import type { PollFailure } from '../../../repositories/device-authorizations/device-authorizations.ts';
import type { Store } from '../../../repositories/store.ts';
import { polls } from '../../../tokens/deferred-authorization.ts';
import { opaqueTokenHash } from '../../../tokens/opaque-token.ts';
import { withLifetimeOf } from '../../../tokens/token-issuer.ts';
import { beyondDetails, bindingRefusals, type GrantType } from '../grant-type.ts';

const parameters = z.object({ device_code: text(512) });

/** The failures that have an error of their own; the others are invalid_grant. */
const refusals: Partial<Record<PollFailure, [code: ErrorCode, description: string]>> = {
  pending: ['authorization_pending', 'the user has not decided yet'],
  slow_down: ['slow_down', 'the poll came too soon: wait 5 seconds longer between polls from now on'],
  denied: ['access_denied', 'the user did not allow it'],
  expired: ['expired_token', 'the device code has expired: request a new one'],
};

const invalid: Partial<Record<PollFailure, string>> = {
  unknown: 'the device code is unknown',
  client: 'the device code was issued to another client',
  key: 'the device code is bound to a key: send a DPoP proof that is signed with this key',
  ended: 'the authorization is no longer valid',
};

/** The failures that the audit log records. */
const events: Partial<Record<PollFailure, AuditEventType>> = {
  replayed: 'code.replayed',
  client: 'code.misused',
  proof: 'dpop.replayed',
};

const refusalOf = (failure: PollFailure): OAuthError => {
  if (failure === 'unbound' || failure === 'proof') return bindingRefusals[failure]();
  if (failure === 'details') return beyondDetails();
  const [code, description] = refusals[failure] ?? [
    'invalid_grant',
    invalid[failure] ?? 'the device code was already used',
  ];
  return new OAuthError(code, description);
};

export function deviceCodeGrant({
  store,
}: {
  store: Pick<Store, 'deviceAuthorizations'>;
}): GrantType<z.infer<typeof parameters>> {
  return {
    name: deviceGrant,
    asksNetwork: true,
    parameters,
    takesDetails: true,
    async authorize({ device_code: code }, { client, resource, details, address, proof, prepare }) {
      const codeHash = opaqueTokenHash('device_code', code);
      if (!codeHash) return { refusal: refusalOf('unknown') };
      const tokens = await prepare(['id_token', 'refresh_token', 'client_session_handle']);
      const result = await store.deviceAuthorizations.poll(
        {
          codeHash,
          clientId: client.clientId,
          accessTokenHash: tokens.accessToken.hash,
          refreshTokenHash: tokens.refreshToken?.hash,
          handleHash: tokens.handle?.hash,
          ...tokens.bindings,
          proof,
          address: address(),
          resource,
          details,
          retrySeconds: client.rules.retrySeconds,
          accessTokenLifetime: tokens.lifetimes.accessToken,
          refreshTokenLifetime: tokens.lifetimes.refreshToken,
          refreshTokenAbsoluteLifetime: tokens.lifetimes.refreshTokenAbsolute,
        },
        polls.slowDown,
      );
      if (!('failure' in result))
        return { ...result, tokens: withLifetimeOf(result, tokens), refreshToken: tokens.refreshToken?.token };
      const { failure, sub, clientId } = result;
      const type = events[failure];
      const refusal =
        failure === 'resource'
          ? invalidTarget(`the authorization is not for this resource${repeated(resource ?? '')}`)
          : refusalOf(failure);
      return type ? { refusal, event: { type, clientId, sub } } : { refusal, isUnbound: failure === 'unbound' };
    },
  };
}
