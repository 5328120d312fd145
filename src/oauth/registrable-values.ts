// Lists the values that clients register as grant types and authentication methods; scopes are in scope.ts.
import { z } from 'zod';
import { offersCertificates, offersVerifiedCertificates, type CertificateSettings } from './certificate-settings.ts';
import { certificateNameRefusal } from './certificate-names.ts';
import { type Refusal, refusal } from './refusals.ts';

/** The name of the device authorization grant (RFC 8628 section 3.4). */
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** The name of the grant of backchannel authentication (OpenID Connect CIBA Core 10.1). */
export const cibaGrant = 'urn:openid:params:grant-type:ciba';

/** The name of the token exchange (RFC 8693 section 2.1). */
export const tokenExchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** The name of the grant by assertions of trusted issuers (RFC 7523 section 2.1). */
export const jwtBearerGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** A grant type and the uses that clients may make of it; a use without a mark is refused. A file in src/protocol/token/grants serves it. */
export interface RegistrableGrantType {
  readonly name: string;
  /** Whether a user takes part. Only then can there be refresh tokens. */
  readonly hasUser?: true;
  /** Whether the client gets responses at a redirect URI. */
  readonly redirects?: true;
  /** Whether a public client may use it. */
  readonly allowsPublic?: true;
  /** Whether the document of a client may contain it. */
  readonly inDocuments?: true;
  /** Whether a client of a FAPI 2.0 profile may use it: whether the profile describes it (FAPI 2.0 Security Profile 5.3.2.1). */
  readonly inFapi2?: true;
  /** The settings under which the service offers it; without this always. */
  readonly isOffered?: (settings: OfferSettings) => boolean;
  /** The noun whose enabled rows offer it: without one, discovery does not name it. */
  readonly offeredBy?: 'exchange_policies' | 'trusted_issuers';
  /** The endpoints that serve this grant type only, by their names in discovery. */
  readonly endpoints?: readonly string[];
}
interface OfferSettings extends CertificateSettings {
  readonly deviceGrant: boolean;
  readonly ciba: boolean;
}

/**
 * One value for each, and its words `registration.grant.…` in every language. Registration, documents of clients, discovery, the console and
 * the approval page read this list. `implicit` has no token request.
 */
export const grantTypes: RegistrableGrantType[] = [
  { name: 'authorization_code', hasUser: true, redirects: true, allowsPublic: true, inDocuments: true, inFapi2: true },
  { name: 'refresh_token', allowsPublic: true, inDocuments: true, inFapi2: true },
  { name: 'client_credentials', inFapi2: true },
  {
    name: deviceGrant,
    hasUser: true,
    allowsPublic: true,
    inDocuments: true,
    isOffered: (settings) => settings.deviceGrant,
    endpoints: ['device_authorization_endpoint'],
  },
  {
    name: cibaGrant,
    hasUser: true,
    isOffered: (settings) => settings.ciba,
    endpoints: ['backchannel_authentication_endpoint'],
  },
  { name: tokenExchangeGrant, offeredBy: 'exchange_policies' },
  { name: jwtBearerGrant, offeredBy: 'trusted_issuers' },
  { name: 'implicit', hasUser: true, redirects: true, allowsPublic: true },
];

/** A grant type that this version does not know allows nothing. */
export const grantTypeOf = (name: string): RegistrableGrantType =>
  grantTypes.find((grantType) => grantType.name === name) ?? { name };

/** Whether the service offers a grant type or an authentication method under these settings. */
export const isOffered = <Settings>(
  settings: Settings,
  { isOffered }: { readonly isOffered?: (settings: Settings) => boolean },
): boolean => isOffered === undefined || isOffered(settings);

/** A method by which clients authenticate, as registrations know it. src/client-authentication serves it. */
export interface AuthenticationMethod {
  readonly name: string;
  /** What a client that uses it proves. A client that proves nothing is public. */
  readonly proves: 'nothing' | 'shared secret' | 'own key';
  /** Where it needs a client_secret: in the requests, so that its hash is enough, or as the key of a signature. */
  readonly needsSecret?: 'in requests' | 'as key';
  /** For which purpose it needs the public keys of the client: `jwks` or `jwks_uri`. */
  readonly needsKeys?: 'signatures' | 'certificates';
  /** The settings under which the service offers it; without this always. */
  readonly isOffered?: (settings: CertificateSettings) => boolean;
  /** What is wrong with the metadata of a client that uses it, beyond single members. */
  readonly refuses?: (metadata: Readonly<Record<string, unknown>>) => Refusal | undefined;
  /** The metadata members that it reads, each with its rule. */
  readonly members?: Readonly<Record<string, (value: unknown, member: string) => Refusal | undefined>>;
}

/** One value for each method, and its words `registration.method.…` in every language. */
export const clientAuthenticationMethods: AuthenticationMethod[] = [
  { name: 'client_secret_basic', proves: 'shared secret', needsSecret: 'in requests' },
  { name: 'client_secret_post', proves: 'shared secret', needsSecret: 'in requests' },
  {
    name: 'client_secret_jwt',
    proves: 'shared secret',
    needsSecret: 'as key',
    members: {
      token_endpoint_auth_signing_alg: (alg, member) =>
        alg !== undefined && alg !== 'HS256' ? refusal('algorithm.symmetric', member) : undefined,
    },
  },
  {
    name: 'private_key_jwt',
    proves: 'own key',
    needsKeys: 'signatures',
    members: {
      token_endpoint_auth_signing_alg: (alg, member) =>
        alg === 'HS256' ? refusal('algorithm.asymmetric', member) : undefined,
    },
  },
  // RFC 8705 2.1, 2.2
  {
    name: 'tls_client_auth',
    proves: 'own key',
    isOffered: offersVerifiedCertificates,
    refuses: certificateNameRefusal,
  },
  {
    name: 'self_signed_tls_client_auth',
    proves: 'own key',
    needsKeys: 'certificates',
    isOffered: offersCertificates,
  },
  { name: 'none', proves: 'nothing' },
];

/** A method that this version does not know is no public one, and no client authenticates by it. */
export const methodOf = (name: string): AuthenticationMethod =>
  clientAuthenticationMethods.find((method) => method.name === name) ?? { name, proves: 'shared secret' };

/** The methods without a client_secret: it is removed from a client that is registered for one of them. */
export const methodsWithoutSecret = (): string[] =>
  namesOf(clientAuthenticationMethods.filter(({ needsSecret }) => needsSecret === undefined));

type Named = { readonly name: string };

/** One value of a list, which JSON Schema names. */
export const oneOf = (values: readonly Named[], refusal: { error: string }) =>
  z
    .string(refusal)
    .refine((value) => values.some(({ name }) => name === value), refusal)
    .meta({ enum: namesOf(values) });

export const namesOf = (values: readonly Named[]): string[] => values.map(({ name }) => name);

/** The names of the values that suit, as an English sentence has them. */
export const inWords = <Value extends Named>(
  values: readonly Value[],
  suits: (value: Value) => boolean | undefined,
  type: 'conjunction' | 'disjunction',
): string => new Intl.ListFormat('en-GB', { type }).format(namesOf(values.filter(suits)));
