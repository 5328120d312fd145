// Client metadata: the registered fields, each checked by its standard's rules (OpenID Connect Registration 1.0, RFC 7591).
import { z } from 'zod';
import { checkAddresses, type MetadataSettings } from './client-addresses.ts';
import { isPrivateUseUri, isSameOrigin, isWebUri } from './redirect-uri.ts';
import { invalidClientMetadata, invalidRedirectUri, type OAuthError } from './errors.ts';
import { canVerify, isKnownKey, isSoundKey, maxKeys } from './json-web-key.ts';
import { contentEncryptionAlgorithms, encryptionKeys, keyManagementAlgorithms } from './response-encryption.ts';
import { neededGrantTypes, parseResponseType, type ResponseType } from './response-type.ts';
import { administratorScopes, registrableScopes, splitScope } from './scope.ts';
import { sectorProblem, subjectTypes } from './subject-type.ts';

export const clientAuthenticationMethods = [
  'client_secret_basic',
  'client_secret_post',
  'client_secret_jwt',
  'private_key_jwt',
  'none',
] as const;
export type ClientAuthenticationMethod = (typeof clientAuthenticationMethods)[number];

export const idTokenSigningAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'HS256'] as const;
export type IdTokenSigningAlgorithm = (typeof idTokenSigningAlgorithms)[number];

export const assertionSigningAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'HS256'] as const;

/** What can be encrypted for a client. */
const encryptedResponses = ['id_token', 'userinfo'] as const;
export type EncryptedResponse = (typeof encryptedResponses)[number];
/** `none` only where the service is set to accept unsigned request objects. */
export const requestObjectSigningAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'HS256', 'none'] as const;

/** The registered metadata after defaulting, under its standard names. */
export type ClientMetadata = Omit<z.infer<typeof clientMetadataShape>, 'grant_types' | 'response_types'> & {
  response_types: ResponseType[];
  grant_types: NonNullable<z.infer<typeof clientMetadataShape>['grant_types']>;
};

/** Members that only an administrator sets (decisions section 2). */
export const administratorMembers = [
  'status',
  'first_party',
  'self_managed',
  'introspect',
  'required_acr',
  'authorization_code_lifetime',
  'access_token_lifetime',
  'refresh_token_lifetime',
  'id_token_lifetime',
] as const;
/** Members that the service answers with and that nobody may send in an update (RFC 7592 section 2.2). */
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

// controls, direction overrides and what cannot be seen, blank letters included, make a name look like another (security R48)
const deceptive = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|\u034f|\u17b4|\u17b5/u;

/** Text for people: composed, short and plain (security R48). */
const displayText = z
  .string({ error: 'must be a string' })
  .transform((text) => text.normalize('NFC').trim())
  .refine((text) => text.length >= 1 && [...text].length <= 100, 'must have 1 to 100 characters')
  // one letter can stand for a sentence, which is what names are compared by
  .refine((text) => [...text.normalize('NFKD')].length <= 200, 'must have 1 to 100 characters')
  .refine((text) => !deceptive.test(text), 'must not hold control, zero-width or direction characters');

const webUri = z
  .string({ error: 'must be a string' })
  .refine(
    isWebUri,
    'must be an https URL (http on 127.0.0.1, [::1] or localhost only) without user information or a fragment',
  );

const uriList = z
  .array(z.string({ error: 'must be an array of strings' }), { error: 'must be an array of strings' })
  .max(20, 'must have at most 20 entries');

const jsonWebKey = z
  .looseObject({ kty: z.string() })
  .refine(
    (key) => key.kty !== 'oct' && !['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'].some((member) => member in key),
    'must hold public keys only',
  );

const keyManagement = z.enum(keyManagementAlgorithms, { error: 'is not a supported algorithm' });
const contentEncryption = z.enum(contentEncryptionAlgorithms, { error: 'is not a supported algorithm' });

/** The registered fields, each with its rule and default; what they mean together is `parseClientMetadata`'s. */
export const clientMetadataShape = z.object({
  redirect_uris: uriList.default([]),
  post_logout_redirect_uris: uriList.optional(),
  response_types: z
    .array(
      z
        .string({ error: 'must be an array of strings' })
        .transform((type) => parseResponseType(type))
        .refine((type) => type !== undefined, 'holds a response type that is not supported'),
      { error: 'must be an array of strings' },
    )
    .optional(),
  grant_types: z
    .array(
      z.enum(['authorization_code', 'implicit', 'refresh_token', 'client_credentials'], {
        error: 'holds a grant type that is not supported',
      }),
    )
    .min(1)
    .optional(),
  frontchannel_logout_uri: webUri.optional(),
  frontchannel_logout_session_required: z.boolean({ error: 'must be true or false' }).optional(),
  backchannel_logout_uri: webUri.optional(),
  backchannel_logout_session_required: z.boolean({ error: 'must be true or false' }).optional(),
  application_type: z.enum(['web', 'native'], { error: 'must be web or native' }).default('web'),
  token_endpoint_auth_method: z
    .enum(clientAuthenticationMethods, { error: 'is not a supported method' })
    .default('client_secret_basic'),
  token_endpoint_auth_signing_alg: z
    .enum(assertionSigningAlgorithms, { error: 'is not a supported algorithm' })
    .optional(),
  id_token_signed_response_alg: z
    .enum(idTokenSigningAlgorithms, { error: 'is not a supported algorithm' })
    .default('RS256'),
  id_token_encrypted_response_alg: keyManagement.optional(),
  id_token_encrypted_response_enc: contentEncryption.optional(),
  userinfo_signed_response_alg: z.enum(idTokenSigningAlgorithms, { error: 'is not a supported algorithm' }).optional(),
  userinfo_encrypted_response_alg: keyManagement.optional(),
  userinfo_encrypted_response_enc: contentEncryption.optional(),
  subject_type: z.enum(subjectTypes, { error: 'must be public or pairwise' }).default('public'),
  sector_identifier_uri: webUri.optional(),
  scope: z
    .string({ error: 'must be a string' })
    .default('openid profile email')
    .transform((scope) => [...new Set(splitScope(scope))].join(' ')),
  client_name: displayText.optional(),
  client_uri: webUri.optional(),
  logo_uri: webUri.optional(),
  policy_uri: webUri.optional(),
  tos_uri: webUri.optional(),
  initiate_login_uri: webUri
    .refine((uri) => uri.startsWith('https:'), 'must be an https URL without user information or a fragment')
    .optional(),
  contacts: z.array(displayText).max(10, 'must have at most 10 entries').optional(),
  jwks_uri: webUri.optional(),
  jwks: z
    .strictObject(
      { keys: z.array(jsonWebKey).min(1).max(maxKeys, `must be a JSON Web Key Set of at most ${maxKeys} keys`) },
      { error: 'must be a JSON Web Key Set' },
    )
    .optional(),
  request_object_signing_alg: z
    .enum(requestObjectSigningAlgorithms, { error: 'is not a supported algorithm' })
    .optional(),
  request_uris: uriList.optional(),
  require_signed_request_object: z.boolean({ error: 'must be true or false' }).optional(),
  require_pushed_authorization_requests: z.boolean({ error: 'must be true or false' }).optional(),
  default_acr_values: z
    .array(z.string().regex(/^[!-~]{1,255}$/), { error: 'must be an array of strings' })
    .max(20, 'must have at most 20 entries')
    .optional(),
  default_max_age: z.int({ error: 'must be a whole number of seconds' }).min(0).optional(),
  require_auth_time: z.boolean({ error: 'must be true or false' }).optional(),
  software_id: displayText.optional(),
  software_version: displayText.optional(),
  resource_uris: uriList.optional(),
  require_pkce: z.boolean({ error: 'must be true or false' }).default(false),
  uma_profile: z.boolean({ error: 'must be true or false' }).default(false),
  id_token_claims: z.boolean({ error: 'must be true or false' }).default(false),
});

/** The registered fields by name: what a registrant may send. */
export const registrableFields = Object.keys(clientMetadataShape.shape);

/**
 * Validates metadata that somebody sends, whoever and how (security R25); unknown members are dropped (RFC 7591 section 2, security R48).
 * @param options.admin the sender is an administrator, who may give the scopes `admin` and `metrics`
 * @param options.unsigned the service accepts unsigned request objects, so a client may register for them
 * @throws OAuthError invalid_redirect_uri or invalid_client_metadata
 */
export function parseClientMetadata(
  input: Record<string, unknown>,
  options: { admin?: boolean; unsigned?: boolean } = {},
  settings: MetadataSettings = {},
): ClientMetadata {
  const parsed = clientMetadataShape.safeParse(input);
  if (!parsed.success) throw refusal(parsed.error.issues[0]!);
  const grantTypes = parsed.data.grant_types;
  const usesCode = grantTypes === undefined || grantTypes.includes('authorization_code');
  const responseTypes = (parsed.data.response_types as ResponseType[] | undefined) ?? (usesCode ? ['code'] : []);
  const needed = neededGrantTypes(responseTypes);
  const metadata: ClientMetadata = {
    ...parsed.data,
    response_types: responseTypes,
    grant_types: grantTypes ?? (needed.length > 0 ? needed : ['authorization_code']),
  };
  const missing = needed.find((grantType) => !metadata.grant_types.includes(grantType));
  if (missing !== undefined) {
    throw invalidClientMetadata(`grant_types must hold ${missing} for these response_types`);
  }
  const needsRedirect =
    metadata.grant_types.includes('authorization_code') || metadata.grant_types.includes('implicit');
  if (needsRedirect && metadata.redirect_uris.length === 0) {
    throw invalidRedirectUri('redirect_uris is missing: register at least one address');
  }
  if (needsRedirect && metadata.response_types.length === 0) {
    throw invalidClientMetadata(
      'response_types is missing: name those that you will use, with the grant type implicit for example id_token',
    );
  }
  checkAddresses(metadata, settings);
  const frontchannel = metadata.frontchannel_logout_uri;
  if (frontchannel !== undefined && !metadata.redirect_uris.some((uri) => isSameOrigin(uri, frontchannel))) {
    throw invalidClientMetadata('frontchannel_logout_uri must have scheme, host and port of one of redirect_uris');
  }
  const sector = sectorProblem(metadata);
  if (sector !== undefined) throw invalidClientMetadata(sector);
  const method = metadata.token_endpoint_auth_method;
  const scopes = splitScope(metadata.scope);
  const allowed: readonly string[] = [...registrableScopes, ...(options.admin ? administratorScopes : [])];
  const foreign = scopes.find((scope) => !allowed.includes(scope));
  if (foreign !== undefined) throw invalidClientMetadata(`scope may hold ${allowed.join(', ')} only`);
  if (metadata.jwks && metadata.jwks_uri) throw invalidClientMetadata('jwks and jwks_uri must not both be there');
  verifyKeys(metadata);
  if (method === 'private_key_jwt' && !metadata.jwks && !metadata.jwks_uri) {
    throw invalidClientMetadata('private_key_jwt needs jwks or jwks_uri');
  }
  for (const response of encryptedResponses) verifyEncryption(metadata, response);
  const signing = metadata.token_endpoint_auth_signing_alg;
  if (signing && method === 'private_key_jwt' && signing === 'HS256') {
    throw invalidClientMetadata('token_endpoint_auth_signing_alg must be asymmetric for private_key_jwt');
  }
  if (signing && method === 'client_secret_jwt' && signing !== 'HS256') {
    throw invalidClientMetadata('token_endpoint_auth_signing_alg must be HS256 for client_secret_jwt');
  }
  if (method === 'none') {
    if (metadata.grant_types.includes('client_credentials'))
      throw invalidClientMetadata('a public client cannot have the grant client_credentials');
    if (signsWithSecret(metadata)) throw invalidClientMetadata('a public client cannot have HS256 signatures');
    if (metadata.uma_profile) throw invalidClientMetadata('uma_profile is for confidential clients only');
  }
  if (signsWithSecret(metadata) && method === 'private_key_jwt') {
    throw invalidClientMetadata('HS256 signatures need a client secret');
  }
  checkRequestObjects(metadata, options.admin === true || options.unsigned === true);
  if (metadata.grant_types.includes('refresh_token') && !needsRedirect) {
    throw invalidClientMetadata('grant_types: refresh_token needs authorization_code');
  }
  return metadata;
}

/** What is known must be sound; what is not is left to other readers of the set, if there is something else for us. */
function verifyKeys({ jwks, token_endpoint_auth_method, token_endpoint_auth_signing_alg }: ClientMetadata): void {
  if (!jwks) return;
  const keys = jwks.keys.filter(isKnownKey);
  if (keys.length === 0) throw invalidClientMetadata('jwks has no key of a supported type and curve');
  if (!keys.every(isSoundKey))
    throw invalidClientMetadata(
      'jwks holds a key that is not a valid one, or an RSA key that has not 2048 to 4096 bits and an exponent below 2^32',
    );
  if (
    token_endpoint_auth_method === 'private_key_jwt' &&
    !keys.some((key) => canVerify(key, token_endpoint_auth_signing_alg))
  ) {
    throw invalidClientMetadata(
      'private_key_jwt needs a key for signatures in jwks: RSA, EC with P-256 or OKP with Ed25519, and that of token_endpoint_auth_signing_alg if you name one',
    );
  }
}

/** Encryption needs a key to encrypt to; `enc` has a default where `alg` is there, and no sense without it (Registration 2). */
function verifyEncryption(metadata: ClientMetadata, response: (typeof encryptedResponses)[number]): void {
  const alg = metadata[`${response}_encrypted_response_alg`];
  const enc = `${response}_encrypted_response_enc` as const;
  if (alg === undefined) {
    if (metadata[enc] !== undefined) throw invalidClientMetadata(`${enc} needs ${response}_encrypted_response_alg`);
    return;
  }
  metadata[enc] ??= contentEncryptionAlgorithms[0];
  if (!metadata.jwks && !metadata.jwks_uri)
    throw invalidClientMetadata(`${response}_encrypted_response_alg needs jwks or jwks_uri`);
  if (metadata.jwks && encryptionKeys(metadata.jwks.keys, alg).length === 0)
    throw invalidClientMetadata(`jwks has no key that ${response}_encrypted_response_alg can encrypt to`);
}

/** Whether the client can send the request objects that it registers for. */
function checkRequestObjects(metadata: ClientMetadata, unsigned: boolean): void {
  const alg = metadata.request_object_signing_alg;
  const method = metadata.token_endpoint_auth_method;
  if (alg === 'none' && (!unsigned || metadata.require_signed_request_object))
    throw invalidClientMetadata('request_object_signing_alg must not be none: request objects have to be signed');
  if (alg === 'HS256' && (method === 'none' || method === 'private_key_jwt'))
    throw invalidClientMetadata('HS256 request objects need a client secret');
  if (alg !== undefined && alg !== 'none' && alg !== 'HS256' && !metadata.jwks && !metadata.jwks_uri)
    throw invalidClientMetadata(`request_object_signing_alg ${alg} needs jwks or jwks_uri`);
}

/** True when the client's secret serves as an HMAC key, and must be stored encrypted beside its hash. */
export function needsSecretAsKey(metadata: ClientMetadata): boolean {
  return metadata.token_endpoint_auth_method === 'client_secret_jwt' || signsWithSecret(metadata);
}

/** True when the client's secret signs something of the service for the client, or of the client for the service. */
function signsWithSecret(metadata: ClientMetadata): boolean {
  return [
    metadata.id_token_signed_response_alg,
    metadata.userinfo_signed_response_alg,
    metadata.request_object_signing_alg,
  ].includes('HS256');
}

/** True when the client has a client_secret at all. */
export function needsSecret(metadata: ClientMetadata): boolean {
  return metadata.token_endpoint_auth_method.startsWith('client_secret') || needsSecretAsKey(metadata);
}

export function isPublicClient(metadata: ClientMetadata): boolean {
  return metadata.token_endpoint_auth_method === 'none';
}

/** The name that people see. */
export function displayName(clientId: string, metadata: ClientMetadata): string {
  return metadata.client_name ?? clientId;
}

/** Host of a redirect URI, or the scheme of a native application's. */
export function redirectHost(uri: string): string {
  return isPrivateUseUri(uri) ? new URL(uri).protocol : new URL(uri).host;
}

function refusal(issue: z.core.$ZodIssue): OAuthError {
  const name = issue.path.map(String).join('.') || 'the request';
  return issue.path[0] === 'redirect_uris'
    ? invalidRedirectUri(`redirect_uris ${plain(issue.message)}`)
    : invalidClientMetadata(`${/^[a-z0-9_.]+$/.test(name) ? name : 'a member'} ${plain(issue.message)}`);
}

function plain(message: string): string {
  return /^(must|is|holds) /.test(message) ? message : 'is not valid';
}
