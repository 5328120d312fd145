// Declares the settings and the profile of a connection by OAuth 2.0: for any service with three addresses, and as the base of each preset.
import { z } from 'zod';
import {
  addressOf,
  type AnsweredAddress,
  type Claims,
  isSubject,
  valueAt,
} from '../../../rules/connections/connection-answer.ts';
import { rule } from '../../../oauth/refusals.ts';
import { text } from '../../../oauth/text.ts';
import { ConnectionFailure, type ConnectionProfile, type ConnectionVariant, variantOf } from '../kind.ts';
import { type ClientAuthentication, objectOf, type ProviderClient } from '../provider-client.ts';
import { clientId, outward, scopeSetting, scopesOf } from '../settings.ts';

/** Sends a request to the service with the user's access token. @throws ConnectionFailure */
export type Ask = (url: string, options?: Parameters<ProviderClient['read']>[2]) => ReturnType<ProviderClient['read']>;

export interface OAuthIdentity {
  subject: string;
  claims: Claims;
  address: AnsweredAddress | undefined;
}

export interface OAuthProfile extends ConnectionProfile {
  issuer: string;
  authorizationEndpoint: string;
  tokenEndpoint: string;
  authentication: ClientAuthentication;
  scope: string;
  /** Asks the service for the user's identity. @throws ConnectionFailure */
  identify(ask: Ask): Promise<OAuthIdentity>;
}

const pathSetting = text(200).min(1, rule('empty'));
const authMethods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;

/** Any service whose address for the user answers with JSON. @param allowed OUTBOUND_ALLOW */
export function anyService(allowed: readonly string[]): ConnectionVariant<OAuthProfile> {
  const shape = z.strictObject({
    authorization_endpoint: outward(allowed),
    token_endpoint: outward(allowed),
    userinfo_endpoint: outward(allowed),
    client_id: clientId,
    token_endpoint_auth_method: z.enum(authMethods).default('client_secret_basic'),
    scope: scopeSetting(''),
    response_mode: z.enum(['query', 'form_post']).default('query'),
    subject_claim: pathSetting.default('sub'),
    email_claim: pathSetting.default('email'),
    email_verified_from: pathSetting.optional(),
    groups_claim: pathSetting.default('groups'),
  });
  return variantOf(shape, {
    trusted: [
      'authorization_endpoint',
      'token_endpoint',
      'userinfo_endpoint',
      'client_id',
      'subject_claim',
      'email_claim',
      'email_verified_from',
    ],
    profile(settings) {
      const { userinfo_endpoint: endpoint, token_endpoint_auth_method: method } = settings;
      return {
        // another service has other subjects, even if all other settings stay
        issuer: new URL(endpoint).origin,
        credential: method === 'private_key_jwt' ? 'key' : 'secret',
        wordCounts: settings.email_verified_from !== undefined,
        isPosted: settings.response_mode === 'form_post',
        authorizationEndpoint: settings.authorization_endpoint,
        tokenEndpoint: settings.token_endpoint,
        authentication: { clientId: settings.client_id, method, audience: settings.token_endpoint },
        scope: scopesOf(settings.scope),
        async identify(ask) {
          const { status, body } = await ask(endpoint);
          if (status !== 200) throw answered(endpoint, status);
          const claims = objectOf(body);
          const verified =
            settings.email_verified_from !== undefined && valueAt(claims, settings.email_verified_from) === true;
          const email = valueAt(claims, settings.email_claim);
          return {
            subject: subjectOf(valueAt(claims, settings.subject_claim)),
            claims,
            address: addressOf({ email, email_verified: verified }),
          };
        },
      };
    },
  });
}

/** Reads a subject: text byte for byte, or a whole number that JSON carries without loss (federation FR1). @throws ConnectionFailure */
export function subjectOf(value: unknown): string {
  if (isSubject(value)) return value;
  if (Number.isSafeInteger(value)) return String(value);
  throw new ConnectionFailure('answer', 'the subject is no text of 1 to 255 bytes, and no whole number');
}

export const answered = (url: string, status: number): ConnectionFailure =>
  new ConnectionFailure(status >= 500 || status === 429 ? 'unreachable' : 'answer', `${url} answered ${status}`);
