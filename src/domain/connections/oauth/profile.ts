// Declares the settings and the profile of a connection by OAuth 2.0: for any service with three addresses, and as the base of each preset.
import { member } from '../../../entities/entity.ts';
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
import { authMethod, clientId, outward, responseMode, scopesOf } from '../settings.ts';

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

/** A path in the answer of the service. */
const pathRule = text(200).min(1, rule('empty'));

/** Any service whose address for the user answers with JSON. @param allowed OUTBOUND_ALLOW */
export function anyService(allowed: readonly string[]): ConnectionVariant<OAuthProfile> {
  const address = (says: string) => member(says, outward(allowed), { required: true, trust: true, form: 'text' });
  const settings = {
    authorization_endpoint: address('Where the browser goes.'),
    token_endpoint: address('The URL from which this service gets the access token.'),
    userinfo_endpoint: address('The URL that returns the user as JSON.'),
    client_id: clientId,
    scope: member('The scopes to ask for.', text(500), { start: '', group: 'protocol', form: 'text' }),
    subject_claim: member('The path of the permanent id of the user.', pathRule, {
      start: 'sub',
      trust: true,
      group: 'accounts',
      form: 'text',
    }),
    email_claim: member('The path of the address.', pathRule, {
      start: 'email',
      trust: true,
      group: 'accounts',
      form: 'text',
    }),
    email_verified_from: member(
      'The path of a value that is true only if the service has verified the address.',
      pathRule,
      { trust: true, group: 'accounts', form: 'text' },
    ),
    groups_claim: member('The path of the groups.', pathRule, { start: 'groups', group: 'groups', form: 'text' }),
    token_endpoint_auth_method: authMethod,
    response_mode: responseMode,
  };
  return variantOf(settings, {
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
