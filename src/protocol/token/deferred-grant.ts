// Makes the grant types of deferred authorizations: they answer the polls of a client, with tokens once its user has approved (RFC 8628 3.5, OpenID Connect CIBA Core 11).
import { z } from 'zod';
import { type ErrorCode, invalidTarget, OAuthError } from '../../oauth/errors.ts';
import { repeated, text } from '../../oauth/text.ts';
import type { AuditEventType } from '../../repositories/audit/audit-events.ts';
import type { PollFailure } from '../../repositories/device-authorizations/device-authorizations.ts';
import type { Repositories } from '../../repositories/store.ts';
import { polls } from '../../tokens/deferred-authorization.ts';
import { opaqueTokenHash } from '../../tokens/opaque-token.ts';
import { withLifetimeOf } from '../../tokens/token-issuer.ts';
import { beyondDetails, bindingRefusals, type GrantType } from './grant-type.ts';

interface DeferredGrant {
  name: string;
  /** The parameter with the code, which is also the kind of opaque token. */
  parameter: 'device_code' | 'auth_req_id';
  /** The code in a sentence. */
  called: string;
  /** Answers a poll, and stores the tokens of an approved one. */
  poll: Repositories['deviceAuthorizations']['poll'];
}

/** The failures that the audit log records. */
const events: Partial<Record<PollFailure, AuditEventType>> = {
  replayed: 'code.replayed',
  client: 'code.misused',
  proof: 'dpop.replayed',
};

export function deferredGrant({ name, parameter, called, poll }: DeferredGrant): GrantType<Record<string, string>> {
  /** The failures that have an error of their own; the others are invalid_grant. */
  const refusals: Partial<Record<PollFailure, [code: ErrorCode, description: string]>> = {
    pending: ['authorization_pending', 'the user has not decided yet'],
    slow_down: ['slow_down', 'the poll came too soon: wait 5 seconds longer between polls from now on'],
    denied: ['access_denied', 'the user did not allow it'],
    expired: ['expired_token', `${called} has expired: request a new one`],
  };
  const invalid: Partial<Record<PollFailure, string>> = {
    unknown: `${called} is unknown`,
    client: `${called} was issued to another client`,
    key: `${called} is bound to a key: send a DPoP proof that is signed with this key`,
    ended: 'the authorization is no longer valid',
  };
  const refusalOf = (failure: PollFailure): OAuthError => {
    if (failure === 'unbound' || failure === 'proof') return bindingRefusals[failure]();
    if (failure === 'details') return beyondDetails();
    const [code, description] = refusals[failure] ?? [
      'invalid_grant',
      invalid[failure] ?? `${called} was already used`,
    ];
    return new OAuthError(code, description);
  };

  return {
    name,
    asksNetwork: true,
    parameters: z.object({ [parameter]: text(512) }),
    takesDetails: true,
    async authorize({ [parameter]: code = '' }, { client, resource, details, address, proof, prepare }) {
      const codeHash = opaqueTokenHash(parameter, code);
      if (!codeHash) return { refusal: refusalOf('unknown') };
      const tokens = await prepare(['id_token', 'refresh_token', 'client_session_handle']);
      const result = await poll(
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
