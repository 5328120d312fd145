// Validates client metadata (OpenID Connect Registration 1.0, RFC 7591).
import { z } from 'zod';
import { detailTypes } from './authorization-details.ts';
import { backchannelMembers, backchannelRefusal } from './backchannel-metadata.ts';
import { hasOwnCertificate } from './client-certificate.ts';
import { certificateNameMembers, isAddress, isDistinguishedName } from './certificate-names.ts';
import { offersCertificates } from './certificate-settings.ts';
import { addressesOf, checkAddresses, type MetadataSettings } from './client-addresses.ts';
import { displayText, webUri } from './display-text.ts';
import { isPrivateUseUri, isSameOrigin, needsAdmission } from './redirect-uri.ts';
import { invalidClientMetadata, invalidRedirectUri } from './errors.ts';
import { applyProfile, fapi2Profiles, follows } from './fapi2.ts';
import { canVerify, isKnownKey, isPrivateOrSymmetric, isValidKey, maxKeys } from './json-web-key.ts';
import { readLocalized, localizedMetadata, taggedName } from './localized-metadata.ts';
import { contentEncryptionAlgorithms, encryptionKeys, keyManagementAlgorithms } from './response-encryption.ts';
import { firstRefusal, refusal, rule } from './refusals.ts';
import {
  clientAuthenticationMethods,
  grantTypeOf,
  grantTypes,
  isOffered,
  methodOf,
  oneOf,
} from './registrable-values.ts';
import { neededGrantTypes, parseResponseType, parts, type ResponseType } from './response-type.ts';
import { administratorScopes, registrableScopes, splitScope } from './scope.ts';
import { sectorRefusal, subjectTypes } from './subject-type.ts';

export const idTokenSigningAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'HS256'] as const;
export type IdTokenSigningAlgorithm = (typeof idTokenSigningAlgorithms)[number];

export const assertionSigningAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'HS256'] as const;

/** The responses that the service can sign and encrypt for a client. */
export const jwtResponses = ['id_token', 'userinfo', 'authorization', 'introspection'] as const;
export type JwtResponse = (typeof jwtResponses)[number];
/** `none` only where a setting allows unsigned request objects. */
export const requestObjectSigningAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'HS256', 'none'] as const;

/** The registered metadata with its defaults, under its standard names. */
export type ClientMetadata = Omit<z.infer<typeof clientMetadataShape>, 'grant_types' | 'response_types'> & {
  response_types: ResponseType[];
  grant_types: NonNullable<z.infer<typeof clientMetadataShape>['grant_types']>;
};

/** Members of a response that an update must not contain (RFC 7592 2.2). */
export const serverMembers = [
  'registration_access_token',
  'registration_client_uri',
  'client_secret_expires_at',
  'client_id_issued_at',
  'shared_secret',
  'login_uri',
  'logout_uri',
  'error_uri',
  'access_denied_uri',
  'pending_changes',
  'refusal_reason',
] as const;

/** A name in a certificate. */
const certificateName = z
  .string(rule('string'))
  .min(1, rule('length', { most: '500' }))
  .max(500, rule('length', { most: '500' }));
const isAbsoluteUri = (uri: string) => /^[A-Za-z][A-Za-z0-9+.-]*:[!-~]+$/.test(uri);

const uriList = z.array(z.string(rule('strings')), rule('strings')).max(20, rule('entries'));

const jsonWebKey = z.looseObject({ kty: z.string() }).refine((key) => !isPrivateOrSymmetric(key), rule('key.public'));

const keyManagement = z.enum(keyManagementAlgorithms, rule('choice.algorithm'));
const contentEncryption = z.enum(contentEncryptionAlgorithms, rule('choice.algorithm'));

/** The registered fields, each with its rule and default; `parseClientMetadata` checks combinations. */
export const clientMetadataShape = z.object({
  redirect_uris: uriList.default([]).describe('The addresses to which authorization responses may go.'),
  post_logout_redirect_uris: uriList.optional().describe('The addresses to which browsers may go after a logout.'),
  response_types: z
    .array(
      z
        .string(rule('strings'))
        .transform((type) => parseResponseType(type))
        .refine((type) => type !== undefined, rule('choice.response-type')),
      rule('strings'),
    )
    .optional(),
  grant_types: z
    .array(oneOf(grantTypes, rule('choice.grant-type')))
    .optional()
    .describe('The grant types that the client uses.'),
  frontchannel_logout_uri: webUri.optional(),
  frontchannel_logout_session_required: z.boolean(rule('boolean')).optional(),
  backchannel_logout_uri: webUri.optional().describe('The address that gets a logout token when a session ends.'),
  backchannel_logout_session_required: z.boolean(rule('boolean')).optional(),
  application_type: z
    .enum(['web', 'native'], rule('choice.application-type'))
    .default('web')
    .describe('Whether the client is a web application, or an application on the device of the user (native).'),
  token_endpoint_auth_method: oneOf(clientAuthenticationMethods, rule('choice.method'))
    .default('client_secret_basic')
    .describe('The method by which the client authenticates; none makes it a public client.'),
  token_endpoint_auth_signing_alg: z.enum(assertionSigningAlgorithms, rule('choice.algorithm')).optional(),
  tls_client_auth_subject_dn: certificateName
    .refine(isDistinguishedName, rule('distinguished-name'))
    .optional()
    .describe('The subject of the certificate of the client, as RFC 4514 writes it: CN=client,O=Example,C=DE.'),
  tls_client_auth_san_dns: certificateName
    .regex(/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/, rule('host-name'))
    .optional()
    .describe('The host name in the certificate of the client.'),
  tls_client_auth_san_uri: certificateName
    .refine(isAbsoluteUri, rule('resource'))
    .optional()
    .describe('The URI in the certificate of the client.'),
  tls_client_auth_san_ip: certificateName
    .refine(isAddress, rule('host-address'))
    .optional()
    .describe('The IP address in the certificate of the client.'),
  tls_client_auth_san_email: certificateName
    .regex(/^[^\s@]+@[^\s@]+$/, rule('email'))
    .optional()
    .describe('The email address in the certificate of the client.'),
  id_token_signed_response_alg: z.enum(idTokenSigningAlgorithms, rule('choice.algorithm')).default('RS256'),
  id_token_encrypted_response_alg: keyManagement.optional(),
  id_token_encrypted_response_enc: contentEncryption.optional(),
  userinfo_signed_response_alg: z.enum(idTokenSigningAlgorithms, rule('choice.algorithm')).optional(),
  userinfo_encrypted_response_alg: keyManagement.optional(),
  userinfo_encrypted_response_enc: contentEncryption.optional(),
  authorization_signed_response_alg: z.enum(idTokenSigningAlgorithms, rule('choice.algorithm')).optional(),
  authorization_encrypted_response_alg: keyManagement.optional(),
  authorization_encrypted_response_enc: contentEncryption.optional(),
  introspection_signed_response_alg: z.enum(idTokenSigningAlgorithms, rule('choice.algorithm')).optional(),
  introspection_encrypted_response_alg: keyManagement.optional(),
  introspection_encrypted_response_enc: contentEncryption.optional(),
  subject_type: z.enum(subjectTypes, rule('choice.subject-type')).default('public'),
  sector_identifier_uri: webUri.optional(),
  scope: z
    .string(rule('string'))
    .describe('The scopes that the client may request, separated by spaces.')
    .default('openid profile email')
    .transform((scope) => [...new Set(splitScope(scope))].join(' ')),
  client_name: displayText.optional().describe('The name that users see.'),
  client_uri: webUri.optional(),
  logo_uri: webUri.optional(),
  policy_uri: webUri.optional(),
  tos_uri: webUri.optional(),
  localized: localizedMetadata,
  initiate_login_uri: webUri.refine((uri) => uri.startsWith('https:'), rule('https.login')).optional(),
  contacts: z.array(displayText).max(10, rule('entries')).optional(),
  jwks_uri: webUri.optional().describe('The address of the public keys of the client, a JWK Set.'),
  jwks: z
    .strictObject(
      { keys: z.array(jsonWebKey).min(1, rule('missing.entry')).max(maxKeys, rule('key.most')) },
      rule('key.set'),
    )
    .optional()
    .describe('The public keys of the client, as a JWK Set; a command reads them from a file.'),
  request_object_signing_alg: z.enum(requestObjectSigningAlgorithms, rule('choice.algorithm')).optional(),
  request_uris: uriList.optional(),
  require_signed_request_object: z.boolean(rule('boolean')).optional(),
  require_pushed_authorization_requests: z.boolean(rule('boolean')).optional(),
  ...backchannelMembers,
  default_acr_values: z
    .array(z.string().regex(/^[!-~]{1,255}$/), rule('strings'))
    .max(20, rule('entries'))
    .optional(),
  default_max_age: z.int(rule('whole-seconds')).min(0).optional(),
  require_auth_time: z.boolean(rule('boolean')).optional(),
  software_id: displayText.optional(),
  software_version: displayText.optional(),
  authorization_details_types: detailTypes,
  resource_uris: uriList
    .optional()
    .describe('The URIs of the APIs that the client serves: it introspects their tokens.'),
  require_pkce: z.boolean(rule('boolean')).default(false),
  uma_profile: z.boolean(rule('boolean')).default(false),
  dpop_bound_access_tokens: z
    .boolean(rule('boolean'))
    .optional()
    .describe('The client gets only access tokens that are bound to a key, by DPoP proofs.'),
  dpop_nonce: z
    .boolean(rule('boolean'))
    .optional()
    .describe('Each DPoP proof of the client must have a nonce of the service.'),
  tls_client_certificate_bound_access_tokens: z
    .boolean(rule('boolean'))
    .optional()
    .describe(
      'The client gets only access tokens that are bound to a key: that of its certificate, or of a DPoP proof.',
    ),
  fapi2: z
    .enum(fapi2Profiles, rule('choice.profile'))
    .optional()
    .describe('The FAPI 2.0 profile that the client must follow.'),
  id_token_claims: z
    .boolean(rule('boolean'))
    .default(false)
    .describe('ID Tokens from the token endpoint also contain the claims of the scopes.'),
});

/** The names of the fields that a registration may contain. */
export const registrableFields = Object.keys(clientMetadataShape.shape);

/**
 * Validates metadata from a registrant, an administrator or the console alike (security R25). Unknown members are dropped (RFC 7591 2, security R48).
 * @param options.admin the sender is an administrator, who may grant the scopes `admin` and `metrics`
 * @param options.development the administrator made the client one of development
 * @param options.apiScopes scopes of resources that the client may register
 * @param options.unsigned the service accepts unsigned request objects
 * @param options.withoutGrants the client signs users in by another protocol, and has no grant types
 * @param options.awaitsAdmission addresses that only an administrator admits may be among the others: the caller keeps them apart
 * @throws OAuthError invalid_redirect_uri or invalid_client_metadata
 */
export function parseClientMetadata(
  input: Record<string, unknown>,
  options: {
    admin?: boolean;
    development?: boolean | undefined;
    apiScopes?: readonly string[];
    unsigned?: boolean;
    withoutGrants?: boolean;
    awaitsAdmission?: boolean;
  } = {},
  settings: MetadataSettings = {},
): ClientMetadata {
  const given = readLocalized(input);
  const parsed = clientMetadataShape.safeParse(given);
  if (!parsed.success) {
    const found = firstRefusal(parsed.error, 'the request');
    const refused = given === input ? found : { ...found, member: taggedName(found.member) };
    throw parsed.error.issues[0]!.path[0] === 'redirect_uris'
      ? invalidRedirectUri({ ...refused, member: 'redirect_uris' })
      : invalidClientMetadata(refused);
  }
  const grants = parsed.data.grant_types;
  if (grants?.length === 0 && !options.withoutGrants)
    throw invalidClientMetadata(refusal('missing.entry', 'grant_types'));
  const usesCode = grants === undefined || grants.includes('authorization_code');
  const responseTypes = (parsed.data.response_types as ResponseType[] | undefined) ?? (usesCode ? ['code'] : []);
  const needed = neededGrantTypes(responseTypes);
  const metadata: ClientMetadata = {
    ...parsed.data,
    // no other kind of client can have such an address
    ...(input['application_type'] === undefined && addressesOf(parsed.data).some(needsAdmission) && native),
    response_types: responseTypes,
    grant_types: grants ?? (needed.length > 0 ? needed : ['authorization_code']),
  };
  const missing = needed.find((grantType) => !metadata.grant_types.includes(grantType));
  if (missing !== undefined) {
    throw invalidClientMetadata(refusal('grant', 'grant_types', { grant: missing }));
  }
  const used = metadata.grant_types.map(grantTypeOf);
  const needsRedirect = used.some(({ redirects }) => redirects);
  if (needsRedirect && metadata.redirect_uris.length === 0) {
    throw invalidRedirectUri(refusal('missing.redirect-uri', 'redirect_uris'));
  }
  if (needsRedirect && metadata.response_types.length === 0) {
    throw invalidClientMetadata(refusal('missing.response-type', 'response_types'));
  }
  const hasBrowserToken = metadata.response_types.some((type) => parts(type).token);
  if (metadata.dpop_bound_access_tokens && hasBrowserToken)
    throw invalidClientMetadata(refusal('dpop.response', 'response_types'));
  if (metadata.tls_client_certificate_bound_access_tokens) {
    if (!offersCertificates(settings))
      throw invalidClientMetadata(refusal('certificate.off', 'tls_client_certificate_bound_access_tokens'));
    if (hasBrowserToken) throw invalidClientMetadata(refusal('dpop.certificate', 'response_types'));
  }
  if (!follows(metadata, settings.fapi2)) metadata.fapi2 = settings.fapi2;
  applyProfile(metadata, input, settings);
  const { admin = false, awaitsAdmission = false, development = false } = options;
  checkAddresses(metadata, settings, admin || awaitsAdmission, admin && development);
  const frontchannel = metadata.frontchannel_logout_uri;
  if (frontchannel !== undefined && !metadata.redirect_uris.some((uri) => isSameOrigin(uri, frontchannel))) {
    throw invalidClientMetadata(refusal('same-origin', 'frontchannel_logout_uri'));
  }
  const sector = sectorRefusal(metadata);
  if (sector !== undefined) throw invalidClientMetadata(sector);
  const method = methodOf(metadata.token_endpoint_auth_method);
  if (!isOffered(settings, method)) throw invalidClientMetadata(refusal('choice.method', 'token_endpoint_auth_method'));
  const scopes = splitScope(metadata.scope);
  const allowed: readonly string[] = [...registrableScopes(), ...(options.admin ? administratorScopes : [])];
  const foreign = scopes.find((scope) => !allowed.includes(scope) && !options.apiScopes?.includes(scope));
  if (foreign !== undefined)
    throw invalidClientMetadata(refusal('choice.scope', 'scope', { scopes: allowed.join(', ') }));
  if (metadata.jwks && metadata.jwks_uri) throw invalidClientMetadata(refusal('keys-once', 'jwks'));
  verifyKeys(metadata);
  if (method.needsKeys && !metadata.jwks && !metadata.jwks_uri) {
    throw invalidClientMetadata(refusal('keys.authentication', 'jwks', { method: method.name }));
  }
  for (const response of jwtResponses) verifyEncryption(metadata, response);
  for (const [member, allows] of Object.entries(method.members ?? {})) {
    const refused = allows((metadata as Record<string, unknown>)[member], member);
    if (refused) throw invalidClientMetadata(refused);
  }
  const unfit = method.refuses?.(metadata) ?? backchannelRefusal(metadata);
  if (unfit) throw invalidClientMetadata(unfit);
  // names that the method does not read would look as if they were checked
  if (!method.refuses) for (const member of certificateNameMembers) Reflect.deleteProperty(metadata, member);
  if (method.proves === 'nothing') {
    const confidential = used.find(({ allowsPublic }) => !allowsPublic);
    if (confidential) throw invalidClientMetadata(refusal('public.grant', 'grant_types', { grant: confidential.name }));
    if (signsWithSecret(metadata))
      throw invalidClientMetadata(refusal('public.signature', 'token_endpoint_auth_method'));
    if (metadata.uma_profile) throw invalidClientMetadata(refusal('public.uma', 'token_endpoint_auth_method'));
  }
  if (signsWithSecret(metadata) && !method.needsSecret) {
    throw invalidClientMetadata(refusal('secret', 'token_endpoint_auth_method'));
  }
  checkRequestObjects(metadata, options.admin === true || options.unsigned === true);
  if (metadata.grant_types.includes('refresh_token') && !used.some(({ hasUser }) => hasUser)) {
    throw invalidClientMetadata(refusal('refresh', 'grant_types'));
  }
  return metadata;
}

const native = { application_type: 'native' } as const;

/** Checks the keys of known types; unknown ones are ignored (RFC 7517 5), as long as one known key is there. */
function verifyKeys({
  jwks,
  token_endpoint_auth_method: name,
  token_endpoint_auth_signing_alg: alg,
}: ClientMetadata): void {
  if (!jwks) return;
  const keys = jwks.keys.filter(isKnownKey);
  if (keys.length === 0) throw invalidClientMetadata(refusal('key.type', 'jwks'));
  if (!keys.every(isValidKey)) throw invalidClientMetadata(refusal('key.valid', 'jwks'));
  const { needsKeys } = methodOf(name);
  if (needsKeys === 'signatures' && !keys.some((key) => canVerify(key, alg)))
    throw invalidClientMetadata(refusal('key.authentication', 'jwks', { method: name }));
  if (needsKeys === 'certificates' && !keys.every(hasOwnCertificate))
    throw invalidClientMetadata(refusal('key.certificate', 'jwks'));
}

/** Checks that `enc` comes with `alg`, and that there is a key to encrypt to; sets the default of `enc` (Registration 2). */
function verifyEncryption(metadata: ClientMetadata, response: JwtResponse): void {
  const alg = `${response}_encrypted_response_alg` as const;
  const enc = `${response}_encrypted_response_enc` as const;
  if (metadata[alg] === undefined) {
    if (metadata[enc] !== undefined) throw invalidClientMetadata(refusal('algorithm.encryption', enc, { enc, alg }));
    return;
  }
  metadata[enc] ??= contentEncryptionAlgorithms[0];
  if (!metadata.jwks && !metadata.jwks_uri) throw invalidClientMetadata(refusal('keys.encryption', alg, { alg }));
  if (metadata.jwks && encryptionKeys(metadata.jwks.keys, metadata[alg]).length === 0)
    throw invalidClientMetadata(refusal('encryption-key', 'jwks', { alg }));
}

/** Checks that the client can send the request objects that it registers for. */
function checkRequestObjects(metadata: ClientMetadata, unsigned: boolean): void {
  const alg = metadata.request_object_signing_alg;
  if (alg === 'none' && (!unsigned || metadata.require_signed_request_object))
    throw invalidClientMetadata(refusal('request', 'request_object_signing_alg'));
  if (alg !== undefined && alg !== 'none' && alg !== 'HS256' && !metadata.jwks && !metadata.jwks_uri)
    throw invalidClientMetadata(refusal('keys.request-object', 'request_object_signing_alg', { alg }));
}

/** Whether the client's secret is an HMAC key, and must be stored encrypted beside its hash. */
export function needsSecretAsKey(metadata: ClientMetadata): boolean {
  return methodOf(metadata.token_endpoint_auth_method).needsSecret === 'as key' || signsWithSecret(metadata);
}

/** Whether the client's secret signs responses or request objects. */
function signsWithSecret(metadata: ClientMetadata): boolean {
  return (
    metadata.request_object_signing_alg === 'HS256' ||
    jwtResponses.some((response) => metadata[`${response}_signed_response_alg`] === 'HS256')
  );
}

/** Whether the client has a client_secret. */
export function needsSecret(metadata: ClientMetadata): boolean {
  return methodOf(metadata.token_endpoint_auth_method).needsSecret !== undefined || needsSecretAsKey(metadata);
}

export function isPublicClient(metadata: ClientMetadata): boolean {
  return methodOf(metadata.token_endpoint_auth_method).proves === 'nothing';
}

/** Returns the name that users see. */
export function displayName(clientId: string, metadata: ClientMetadata): string {
  return metadata.client_name ?? clientId;
}

/** Returns the host of a redirect URI, or the private-use scheme of a native application. */
export function redirectHost(uri: string): string {
  return isPrivateUseUri(uri) ? new URL(uri).protocol : new URL(uri).host;
}
