// Defines the FAPI 2.0 profiles that a client can register: what they prescribe in its metadata, and how its requests are treated.
import type { CertificateSettings } from './certificate-settings.ts';
import { invalidClientMetadata, invalidRedirectUri } from './errors.ts';
import { refusal } from './refusals.ts';
import {
  type AuthenticationMethod,
  clientAuthenticationMethods,
  grantTypeOf,
  grantTypes,
  inWords,
  isOffered,
  methodOf,
} from './registrable-values.ts';

/** The Security Profile, and Message Signing on top of it; each includes those before it. */
export const fapi2Profiles = ['security', 'message_signing'] as const;
export type Fapi2Profile = (typeof fapi2Profiles)[number];

/** The algorithms of every signature, in either direction (FAPI 2.0 Security Profile 5.4). */
export const fapi2Algorithms: readonly string[] = ['PS256', 'ES256', 'EdDSA'];

/** The rules for the requests of a client. */
export interface Profile {
  /** The algorithms of client assertions and request objects; undefined if all are accepted. */
  readonly signatures: readonly string[] | undefined;
  /** Whether `aud` of an assertion must be the issuer, as one string (5.3.2.1-8). */
  readonly hasSingleAudience: boolean;
  /** Whether a request object must state its times and its audience (Message Signing 5.3). */
  readonly hasTimedRequestObjects: boolean;
  /** Whether the short form of an authorization request, which cannot be pushed, is served (5.3.2.2-2). */
  readonly hasShortForm: boolean;
  /** Whether every authorization response must be a JWT (Message Signing 5.4). */
  readonly needsJwtResponses: boolean;
  /** Seconds in which a client that lost the response may redeem its code again without ending its tokens (5.3.2.1-11). */
  readonly retrySeconds: number;
  /** The longest life of a code in seconds, whatever the settings say (5.3.2.1-11). */
  readonly codeSeconds: number;
  /** The longest life of a pushed request in seconds (5.3.2.2-11). */
  readonly requestSeconds: number;
  /** Whether refresh tokens may rotate (5.3.2.1-9). */
  readonly mayRotate: boolean;
  /** Whether the client gets only access tokens that are bound to a key (5.3.2.1-4). */
  readonly needsBoundTokens: boolean;
}

const common: Profile = {
  signatures: undefined,
  hasSingleAudience: false,
  hasTimedRequestObjects: false,
  hasShortForm: true,
  needsJwtResponses: false,
  retrySeconds: 5,
  codeSeconds: Infinity,
  requestSeconds: Infinity,
  mayRotate: true,
  needsBoundTokens: false,
};

const security: Profile = {
  signatures: fapi2Algorithms,
  hasSingleAudience: true,
  hasTimedRequestObjects: true,
  hasShortForm: false,
  needsJwtResponses: false,
  retrySeconds: 0,
  codeSeconds: 60,
  requestSeconds: 599,
  mayRotate: false,
  needsBoundTokens: true,
};

const profiles: Readonly<Record<Fapi2Profile, Profile>> = {
  security,
  message_signing: { ...security, needsJwtResponses: true },
};

/** The rules for a client: those of its profile, or of the service (security R137). */
export const profileOf = ({ fapi2 }: { fapi2?: Fapi2Profile | undefined }): Profile =>
  fapi2 === undefined ? common : profiles[fapi2];

/** How much a profile demands, for comparisons. */
export const rankOf = (profile: Fapi2Profile | undefined): number =>
  profile === undefined ? 0 : fapi2Profiles.indexOf(profile) + 1;

/** Whether a client follows the profile that the service demands of all its clients, if it demands one. */
export const follows = ({ fapi2 }: { fapi2?: Fapi2Profile | undefined }, demanded: Fapi2Profile | undefined): boolean =>
  rankOf(fapi2) >= rankOf(demanded);

const signedMembers = [
  'id_token_signed_response_alg',
  'userinfo_signed_response_alg',
  'authorization_signed_response_alg',
  'introspection_signed_response_alg',
  'token_endpoint_auth_signing_alg',
  'request_object_signing_alg',
] as const;

type ProfiledMetadata = {
  fapi2?: Fapi2Profile | undefined;
  application_type: string;
  redirect_uris: string[];
  response_types: string[];
  grant_types: string[];
  token_endpoint_auth_method: string;
  require_pkce: boolean;
  require_pushed_authorization_requests?: boolean | undefined;
  require_signed_request_object?: boolean | undefined;
  uma_profile: boolean;
} & { [Member in (typeof signedMembers)[number]]?: string | undefined };

/**
 * Sets the members that the client's profile prescribes, and checks those that the client chooses.
 * @param given the names of the members that the client sent, which have no default
 * @throws OAuthError invalid_redirect_uri or invalid_client_metadata
 */
export function applyProfile(
  metadata: ProfiledMetadata,
  given: Readonly<Record<string, unknown>>,
  settings: CertificateSettings,
): void {
  const { fapi2 } = metadata;
  if (fapi2 === undefined) return;
  metadata.require_pkce = true;
  metadata.require_pushed_authorization_requests = true;
  metadata.authorization_signed_response_alg ??= 'ES256';
  if (given['id_token_signed_response_alg'] === undefined) metadata.id_token_signed_response_alg = 'ES256';
  if (fapi2 === 'message_signing') {
    metadata.require_signed_request_object = true;
    metadata.introspection_signed_response_alg ??= 'ES256';
  }
  if (methodOf(metadata.token_endpoint_auth_method).proves !== 'own key') {
    const suits = (method: AuthenticationMethod) => method.proves === 'own key' && isOffered(settings, method);
    const methods = inWords(clientAuthenticationMethods, suits, 'disjunction');
    throw invalidClientMetadata(refusal('fapi2.method', 'token_endpoint_auth_method', { methods }));
  }
  if (!metadata.grant_types.every((name) => grantTypeOf(name).inFapi2)) {
    const grants = inWords(grantTypes, ({ inFapi2 }) => inFapi2, 'conjunction');
    throw invalidClientMetadata(refusal('fapi2.grant', 'grant_types', { grants }));
  }
  if (metadata.response_types.some((type) => type !== 'code'))
    throw invalidClientMetadata(refusal('fapi2.response', 'response_types'));
  if (metadata.uma_profile) throw invalidClientMetadata(refusal('fapi2.uma', 'uma_profile'));
  for (const member of signedMembers) {
    const alg = metadata[member];
    if (alg !== undefined && !fapi2Algorithms.includes(alg))
      throw invalidClientMetadata(refusal('fapi2.algorithm', member, { member }));
  }
  // loopback addresses are for native applications only (5.3.2.2-8)
  const scheme = metadata.application_type === 'native' ? /^https?:/ : /^https:/;
  if (!metadata.redirect_uris.every((uri) => scheme.test(uri)))
    throw invalidRedirectUri(refusal('fapi2.redirect-uri', 'redirect_uris'));
}
