// Serves the discovery documents below /.well-known, built from the registered features (OpenID Connect Discovery, RFC 8414).
import type { FastifyInstance } from 'fastify';
import type { Config } from '../../config.ts';
import { backchannelSigningAlgorithms, deliveryModes } from '../../oauth/backchannel-metadata.ts';
import { dpopAlgorithms } from '../../oauth/dpop-proof.ts';
import { type AuthenticationMethod, grantTypeOf, namesOf } from '../../oauth/registrable-values.ts';
import type { PublicResources } from '../../domain/resources/public-resources.ts';
import { jsonErrors } from '../../server/errors.ts';
import type { TokenService } from '../../tokens/token-service.ts';

/** The registered features, by the names of the discovery documents. */
export interface Capabilities {
  /** Endpoints with a standard name, as paths below the issuer: `authorization_endpoint: "/authorize"`. */
  endpoints: Readonly<Record<string, string>>;
  /** Endpoints of Gatehouse's own, in the OAuth server metadata only. */
  ownEndpoints: Readonly<Record<string, string>>;
  responseTypes: readonly string[];
  responseModes: readonly string[];
  grantTypes: readonly string[];
  prompts: readonly string[];
  scopes: readonly string[];
  claims: readonly string[];
  clientAuthenticationMethods: readonly AuthenticationMethod[];
  assertionAlgorithms: readonly string[];
  /** Of ID Tokens and other responses. */
  signingAlgorithms: readonly string[];
  requestObjectAlgorithms: readonly string[];
  keyManagementAlgorithms: readonly string[];
  contentEncryptionAlgorithms: readonly string[];
  subjectTypes: readonly string[];
  acrValues: readonly string[];
  locales: readonly string[];
  /** The addresses for clients with certificates, by the names of the endpoints; undefined where the service takes none (RFC 8705 5). */
  certificateEndpoints: Readonly<Record<string, string>> | undefined;
  /** The registration modes (draft-dellaert-oauth-approval-based-dcr); in the OAuth server metadata only. */
  registrationModes: readonly string[];
}

const maxAge = 300;

interface DiscoveryDependencies {
  config: Config;
  capabilities: Capabilities;
  tokens: Pick<TokenService, 'signedMetadata'>;
  /** Returns the same object until a resource changes. */
  publicResources: { current(): PublicResources };
}

export async function discoveryEndpoint(app: FastifyInstance, options: DiscoveryDependencies): Promise<void> {
  const openid = renewed(options, (publicResources) => JSON.stringify(openidConfiguration(options, publicResources)));
  serve(app, '/.well-known/openid-configuration', openid);
  serve(app, oauthMetadata, prepareOauthMetadata(options));
}

const oauthMetadata = '/.well-known/oauth-authorization-server';

/** The path of the metadata at the origin of an issuer with a path: the well-known part comes before that path (RFC 8414 3.1). */
export const originMetadataPath = (basePath: string): string => oauthMetadata + basePath;

/** Serves the OAuth server metadata of an issuer with a path at its origin. */
export async function originDiscoveryEndpoint(app: FastifyInstance, options: DiscoveryDependencies): Promise<void> {
  serve(app, originMetadataPath(options.config.basePath), prepareOauthMetadata(options));
}

/** Prepares what follows from the public resources again when they change. */
function renewed<T>({ publicResources }: DiscoveryDependencies, prepare: (resources: PublicResources) => T): () => T {
  let of = publicResources.current();
  let prepared = prepare(of);
  return () => {
    const now = publicResources.current();
    if (now !== of) [of, prepared] = [now, prepare(now)];
    return prepared;
  };
}

function serve(app: FastifyInstance, path: string, document: () => string | Promise<string>): void {
  const cacheControl = `public, max-age=${maxAge}`;
  app.get(path, { errorHandler: jsonErrors, exposeHeadRoute: true }, async (_request, reply) => {
    const body = await document();
    return reply.header('cache-control', cacheControl).type('application/json; charset=utf-8').send(body);
  });
}

/** The document with its JWT, which is serialized again only when there is a new one. */
function prepareOauthMetadata(options: DiscoveryDependencies): () => Promise<string> {
  const document = renewed(options, (publicResources) => oauthConfiguration(options, publicResources));
  const signedMetadata = options.tokens.signedMetadata(document);
  let prepared = { jwt: '', body: '' };
  return async () => {
    const jwt = await signedMetadata();
    if (prepared.jwt !== jwt) prepared = { jwt, body: JSON.stringify({ ...document(), signed_metadata: jwt }) };
    return prepared.body;
  };
}

function oauthConfiguration(
  options: DiscoveryDependencies,
  publicResources: PublicResources,
): Readonly<Record<string, unknown>> {
  const { config, capabilities } = options;
  return {
    ...openidConfiguration(options, publicResources),
    ...addresses(config.issuer, capabilities.ownEndpoints),
    registration_modes_supported: capabilities.registrationModes,
    // RFC 9701 7
    introspection_signing_alg_values_supported: capabilities.signingAlgorithms,
    introspection_encryption_alg_values_supported: capabilities.keyManagementAlgorithms,
    introspection_encryption_enc_values_supported: capabilities.contentEncryptionAlgorithms,
  };
}

function openidConfiguration(
  { config: { issuer, requirePushedRequests, fapi2, clientDocuments, ciba }, capabilities }: DiscoveryDependencies,
  { resources, scopes, keepsTokens, offering, detailTypes }: PublicResources,
): Readonly<Record<string, unknown>> {
  const methods = namesOf(capabilities.clientAuthenticationMethods);
  return {
    issuer,
    ...addresses(issuer, capabilities.endpoints),
    scopes_supported: [...capabilities.scopes.filter((scope) => scope !== 'upstream_token' || keepsTokens), ...scopes],
    // RFC 9728 4
    ...(resources.length > 0 && { protected_resources: resources }),
    // RFC 9396 10
    ...(detailTypes.length > 0 && { authorization_details_types_supported: detailTypes }),
    response_types_supported: capabilities.responseTypes,
    response_modes_supported: capabilities.responseModes,
    grant_types_supported: capabilities.grantTypes.filter((name) => {
      const { offeredBy } = grantTypeOf(name);
      return offeredBy === undefined || offering.includes(offeredBy);
    }),
    acr_values_supported: capabilities.acrValues,
    subject_types_supported: capabilities.subjectTypes,
    id_token_signing_alg_values_supported: capabilities.signingAlgorithms,
    id_token_encryption_alg_values_supported: capabilities.keyManagementAlgorithms,
    id_token_encryption_enc_values_supported: capabilities.contentEncryptionAlgorithms,
    userinfo_signing_alg_values_supported: capabilities.signingAlgorithms,
    userinfo_encryption_alg_values_supported: capabilities.keyManagementAlgorithms,
    userinfo_encryption_enc_values_supported: capabilities.contentEncryptionAlgorithms,
    authorization_signing_alg_values_supported: capabilities.signingAlgorithms,
    authorization_encryption_alg_values_supported: capabilities.keyManagementAlgorithms,
    authorization_encryption_enc_values_supported: capabilities.contentEncryptionAlgorithms,
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: capabilities.assertionAlgorithms,
    revocation_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_signing_alg_values_supported: capabilities.assertionAlgorithms,
    introspection_endpoint_auth_methods_supported: namesOf(
      capabilities.clientAuthenticationMethods.filter(({ proves }) => proves !== 'nothing'),
    ),
    introspection_endpoint_auth_signing_alg_values_supported: capabilities.assertionAlgorithms,
    display_values_supported: ['page', 'touch'],
    claim_types_supported: ['normal'],
    claims_supported: capabilities.claims,
    ui_locales_supported: capabilities.locales,
    claims_parameter_supported: true,
    request_parameter_supported: true,
    request_uri_parameter_supported: true,
    require_request_uri_registration: true,
    // every FAPI 2.0 client pushes its requests (FAPI 2.0 SP 5.3.2.2-2)
    require_pushed_authorization_requests: requirePushedRequests || fapi2 !== undefined,
    request_object_signing_alg_values_supported: capabilities.requestObjectAlgorithms,
    prompt_values_supported: capabilities.prompts,
    code_challenge_methods_supported: ['S256'],
    // RFC 9449 5.1
    dpop_signing_alg_values_supported: dpopAlgorithms,
    // RFC 8705 3.3, 5
    ...(capabilities.certificateEndpoints && {
      tls_client_certificate_bound_access_tokens: true,
      mtls_endpoint_aliases: capabilities.certificateEndpoints,
    }),
    // OpenID Connect CIBA Core 4
    ...(ciba && {
      backchannel_token_delivery_modes_supported: deliveryModes,
      backchannel_authentication_request_signing_alg_values_supported: backchannelSigningAlgorithms,
      backchannel_user_code_parameter_supported: false,
    }),
    authorization_response_iss_parameter_supported: true,
    // draft-ietf-oauth-client-id-metadata-document 7
    ...(clientDocuments !== 'off' && { client_id_metadata_document_supported: true }),
    frontchannel_logout_supported: true,
    frontchannel_logout_session_supported: true,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  };
}

function addresses(issuer: string, paths: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, issuer + path]));
}
