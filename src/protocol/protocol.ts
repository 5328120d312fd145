// Registers the endpoints that clients and application servers call, and publishes them in discovery.
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';
import { acrValues } from '../oauth/acr.ts';
import { supportedClaims } from '../oauth/claim-names.ts';
import {
  assertionSigningAlgorithms,
  idTokenSigningAlgorithms,
  requestObjectSigningAlgorithms,
} from '../oauth/client-metadata.ts';
import { contentEncryptionAlgorithms, keyManagementAlgorithms } from '../oauth/response-encryption.ts';
import { responseModes, responseTypes } from '../oauth/response-type.ts';
import {
  clientAuthenticationMethods,
  grantTypeOf,
  grantTypes as registrableGrantTypes,
  isOffered,
  namesOf,
} from '../oauth/registrable-values.ts';
import { registrableScopes } from '../oauth/scope.ts';
import { subjectTypes } from '../oauth/subject-type.ts';
import { certificateAliases } from '../server/client-certificate.ts';
import { crossOrigin } from '../server/cross-origin.ts';
import { type DependenciesOf, registerAll } from '../server/register-all.ts';
import { authenticationEndpoint } from './authentication/routes.ts';
import { pushedAuthorizationRequestEndpoint } from './authorization/pushed-request-routes.ts';
import { authorizationEndpoint } from './authorization/routes.ts';
import { backchannelAuthenticationEndpoint } from './backchannel-authentication/routes.ts';
import { checkSessionEndpoint } from './check-session/routes.ts';
import { deviceAuthorizationEndpoint } from './device-authorization/routes.ts';
import {
  type Capabilities,
  discoveryEndpoint,
  originDiscoveryEndpoint,
  originMetadataPath,
} from './discovery/routes.ts';
import { endSessionEndpoint } from './end-session/routes.ts';
import { globalRevocationEndpoint } from './global-revocation/routes.ts';
import { introspectionEndpoint } from './introspection/routes.ts';
import { jwksEndpoint } from './jwks/routes.ts';
import { logoutEndpoint } from './logout/routes.ts';
import { registrationModes } from './registration/deferred.ts';
import { registrationEndpoint } from './registration/routes.ts';
import { protectedResourceEndpoint, protectedResourcePaths } from './protected-resource/routes.ts';
import { revocationEndpoint } from './revocation/routes.ts';
import { type GrantDependencies, grantTypes } from './token/grants/grant-types.ts';
import { samlLogoutEndpoint } from './saml/logout-routes.ts';
import { samlMetadataEndpoint } from './saml/metadata-routes.ts';
import { samlSignOnEndpoint } from './saml/routes.ts';
import { scimEndpoint } from './scim/routes.ts';
import { forwardAuthEndpoint } from './forward-auth/routes.ts';
import { sitePages } from './forward-auth/page-routes.ts';
import { siteEndpoints } from './forward-auth/site-routes.ts';
import { tokenEndpoint } from './token/routes.ts';
import { userDataEndpoint } from './user-data/routes.ts';
import { webfingerEndpoint } from './webfinger/routes.ts';
import { userinfoEndpoint } from './userinfo/routes.ts';
import { promptValues } from '../oauth/prompt.ts';

/** Endpoints with a standard name in the discovery documents. */
export const standardEndpoints = {
  authorization_endpoint: '/authorize',
  pushed_authorization_request_endpoint: '/par',
  device_authorization_endpoint: '/device_authorization',
  backchannel_authentication_endpoint: '/bc-authorize',
  token_endpoint: '/token',
  revocation_endpoint: '/revoke',
  introspection_endpoint: '/introspect',
  userinfo_endpoint: '/user/info',
  jwks_uri: '/jwks',
  registration_endpoint: '/register',
  end_session_endpoint: '/logout',
  check_session_iframe: '/check-session',
};
/** Endpoints of Gatehouse's own, named in the OAuth server metadata only. */
export const ownEndpoints = {
  authentication_endpoint: '/authenticate',
  user_address_endpoint: '/user/{sub}/address',
  user_info_endpoint: '/user/{sub}/info',
  user_settings_endpoint: '/user/{sub}/settings',
  user_scope_endpoint: '/user/{sub}/scope',
  client_end_session_endpoint: '/end-session',
};
/** The route patterns that scripts of any origin may call. */
export const crossOriginPaths = [
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/.well-known/webfinger',
  '/jwks',
  '/par',
  '/device_authorization',
  '/token',
  '/revoke',
  '/user/info',
  '/register',
  '/register/:clientId',
];

const clientEndpoints = [
  registrationEndpoint,
  pushedAuthorizationRequestEndpoint,
  deviceAuthorizationEndpoint,
  backchannelAuthenticationEndpoint,
  userinfoEndpoint,
  revocationEndpoint,
  globalRevocationEndpoint,
  introspectionEndpoint,
  userDataEndpoint,
  scimEndpoint,
  forwardAuthEndpoint,
];
export const browserEndpoints = [
  authorizationEndpoint,
  authenticationEndpoint,
  logoutEndpoint,
  endSessionEndpoint,
  sitePages,
  samlMetadataEndpoint,
  samlSignOnEndpoint,
  samlLogoutEndpoint,
];

type Documents = Omit<
  DependenciesOf<[typeof discoveryEndpoint, typeof jwksEndpoint, typeof protectedResourceEndpoint]>,
  'capabilities'
>;

/** Registers discovery and keys, which need no database. @param locales of the pages */
export async function protocolDocuments(
  app: FastifyInstance,
  { locales, ...dependencies }: Documents & { locales: readonly string[] },
): Promise<void> {
  await app.register(discoveryEndpoint, {
    ...dependencies,
    capabilities: capabilitiesOf(dependencies.config, locales),
  });
  await app.register(jwksEndpoint, dependencies);
  await app.register(webfingerEndpoint, dependencies);
}

/** The addresses at the root of the origin, which contain the path of the issuer after the well-known part. */
export const originPaths = (basePath: string): string[] => [
  ...(basePath === '' ? [] : [originMetadataPath(basePath)]),
  ...protectedResourcePaths(basePath),
];

/** Registers the documents at the root of the origin (RFC 8414 3.1, RFC 9728 3.1). */
export async function originDocuments(
  app: FastifyInstance,
  { locales, ...dependencies }: Documents & { locales: readonly string[] },
): Promise<void> {
  const { config } = dependencies;
  if (config.basePath !== '') {
    await crossOrigin(app, originPaths(config.basePath));
    await app.register(originDiscoveryEndpoint, { ...dependencies, capabilities: capabilitiesOf(config, locales) });
  }
  await app.register(protectedResourceEndpoint, dependencies);
}

export { siteEndpoints };

/** Registers the endpoints that programs call. */
export async function protocolEndpoints(
  app: FastifyInstance,
  dependencies: DependenciesOf<typeof clientEndpoints> &
    Omit<DependenciesOf<[typeof tokenEndpoint]>, 'grantTypes'> &
    GrantDependencies,
): Promise<void> {
  await registerAll(app, clientEndpoints, dependencies);
  await app.register(tokenEndpoint, {
    ...dependencies,
    grantTypes: grantTypes
      .map((grantType) => grantType(dependencies))
      .filter(({ name }) => isOffered(dependencies.config, grantTypeOf(name))),
  });
}

/** Registers the endpoints to which clients send browsers. */
export async function protocolPages(
  app: FastifyInstance,
  dependencies: DependenciesOf<typeof browserEndpoints>,
): Promise<void> {
  await registerAll(app, browserEndpoints, dependencies);
  await app.register(checkSessionEndpoint, dependencies);
}

function capabilitiesOf(config: Config, locales: readonly string[]): Capabilities {
  const offered = registrableGrantTypes.filter((grantType) => isOffered(config, grantType));
  const others = registrableGrantTypes.filter((grantType) => !offered.includes(grantType));
  const off = others.flatMap(({ endpoints = [] }) => endpoints);
  const endpoints = Object.fromEntries(Object.entries(standardEndpoints).filter(([name]) => !off.includes(name)));
  return {
    endpoints,
    certificateEndpoints: certificateEndpointsOf(config, endpoints),
    ownEndpoints,
    responseTypes,
    responseModes,
    grantTypes: namesOf(offered),
    prompts: promptValues(config),
    // roles mean something to the clients that have some, and to no other (federation 7)
    scopes: registrableScopes().filter((scope) => scope !== 'roles'),
    claims: supportedClaims.filter((claim) => claim !== 'roles'),
    clientAuthenticationMethods: clientAuthenticationMethods.filter((method) => isOffered(config, method)),
    assertionAlgorithms: assertionSigningAlgorithms,
    signingAlgorithms: idTokenSigningAlgorithms,
    requestObjectAlgorithms: requestObjectSigningAlgorithms.filter(
      (alg) => alg !== 'none' || config.requestObjectUnsigned,
    ),
    keyManagementAlgorithms,
    contentEncryptionAlgorithms,
    subjectTypes,
    acrValues,
    locales,
    registrationModes,
  };
}

/** The endpoints that clients with certificates reach at the setting MTLS_BASE_URL, with the addresses there. */
function certificateEndpointsOf(
  { mtls: { baseUrl } }: Config,
  endpoints: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> | undefined {
  if (baseUrl === undefined) return undefined;
  const aliases = Object.entries(endpoints).filter(([, path]) => certificateAliases.includes(path));
  return Object.fromEntries(aliases.map(([name, path]) => [name, baseUrl + path]));
}
