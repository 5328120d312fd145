// The composition root: builds everything by hand and registers every endpoint; the route map on one screen.
import { join } from 'node:path';
import fastifyCookie from '@fastify/cookie';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { createPasswordHashing, type PasswordWork } from './crypto/password-hashing.ts';
import type { Database } from './database/database.ts';
import { accountEndpoint } from './endpoints/account/routes.ts';
import { accountEmailEndpoint } from './endpoints/account-email/routes.ts';
import { accountPasskeysEndpoint } from './endpoints/account-passkeys/routes.ts';
import { accountApplicationsEndpoint } from './endpoints/account-applications/routes.ts';
import { accountDataEndpoint } from './endpoints/account-data/routes.ts';
import { accountDeleteEndpoint } from './endpoints/account-delete/routes.ts';
import { accountPasswordEndpoint } from './endpoints/account-password/routes.ts';
import { accountProfileEndpoint } from './endpoints/account-profile/routes.ts';
import { accountSessionsEndpoint } from './endpoints/account-sessions/routes.ts';
import { accountSecondFactorsEndpoint } from './endpoints/account-second-factors/routes.ts';
import { adminEndpoint, adminVersionHeader, isAdminAddress, nameAdminVersion } from './endpoints/admin/routes.ts';
import { promptValues } from './http/authorization/request.ts';
import { authenticationEndpoint } from './endpoints/authentication/routes.ts';
import { authorizationEndpoint } from './endpoints/authorization/routes.ts';
import { checkSessionEndpoint } from './endpoints/check-session/routes.ts';
import { consoleEndpoint } from './endpoints/console/routes.ts';
import { consoleClientsEndpoint } from './endpoints/console-clients/routes.ts';
import { consoleGroupsEndpoint } from './endpoints/console-groups/routes.ts';
import { consoleUsersEndpoint } from './endpoints/console-users/routes.ts';
import { consoleSearchEndpoint } from './endpoints/console-search/routes.ts';
import { consoleTryItEndpoint } from './endpoints/console-try-it/routes.ts';
import { consoleOperationsEndpoint } from './endpoints/console-operations/routes.ts';
import { consentEndpoint } from './endpoints/consent/routes.ts';
import {
  type Capabilities,
  discoveryEndpoint,
  originDiscoveryEndpoint,
  originMetadataPath,
} from './endpoints/discovery/routes.ts';
import { endSessionEndpoint } from './endpoints/end-session/routes.ts';
import { healthEndpoint } from './endpoints/health/routes.ts';
import { jwksEndpoint } from './endpoints/jwks/routes.ts';
import { loginSecondFactorEndpoint } from './endpoints/login-second-factor/routes.ts';
import { loginEndpoint } from './endpoints/login/routes.ts';
import { logoutEndpoint } from './endpoints/logout/routes.ts';
import { pagesEndpoint } from './endpoints/pages/routes.ts';
import { passwordResetEndpoint } from './endpoints/password-reset/routes.ts';
import { pushedAuthorizationRequestEndpoint } from './endpoints/pushed-authorization-request/routes.ts';
import { introspectionEndpoint } from './endpoints/introspection/routes.ts';
import { registrationModes } from './endpoints/registration/deferred.ts';
import { registrationEndpoint } from './endpoints/registration/routes.ts';
import { registrationApprovalEndpoint } from './endpoints/registration-approval/routes.ts';
import { revocationEndpoint } from './endpoints/revocation/routes.ts';
import { signUpEndpoint } from './endpoints/sign-up/routes.ts';
import { authorizationCodeGrant } from './endpoints/token/authorization-code.ts';
import { clientCredentialsGrant } from './endpoints/token/client-credentials.ts';
import { refreshTokenGrant } from './endpoints/token/refresh-token.ts';
import { tokenEndpoint } from './endpoints/token/routes.ts';
import { userDataEndpoint } from './endpoints/user-data/routes.ts';
import { userinfoEndpoint } from './endpoints/userinfo/routes.ts';
import { refuseTwoAuthorizations } from './http/authorization-header.ts';
import { createActivity } from './http/activity.ts';
import { createAuthorizationFlow } from './http/authorization/flow.ts';
import { createAuditTrail } from './http/audit.ts';
import { createBrowserSessions } from './http/browser-session.ts';
import { createClientAuthentication } from './http/client-authentication.ts';
import { boundConnections } from './http/connections.ts';
import { createConstantAnswers } from './http/constant-answers.ts';
import { createConsole } from './http/console.ts';
import { crossOrigin } from './http/cross-origin.ts';
import { endEmptyBodies, spareEmptyBodies } from './http/empty-bodies.ts';
import { jsonErrors } from './http/errors.ts';
import { createKnownBrowsers } from './http/known-browser.ts';
import { createMetrics, type Siblings } from './http/metrics.ts';
import { createPageResponses } from './http/page-response.ts';
import { createPages, type PageRenderer } from './http/pages.ts';
import { createPasskeys } from './http/passkeys.ts';
import { sharePatience } from './http/patience.ts';
import { requestLog } from './http/request-log.ts';
import { limitHandlers } from './http/time-limit.ts';
import { createPasswordCheck } from './http/password-check.ts';
import { createPasswordPolicy } from './http/password-policy.ts';
import { createSecondFactors } from './http/second-factors.ts';
import { createSecondStep } from './http/second-step.ts';
import { headersOfEveryResponse, securityHeaders } from './http/security-headers.ts';
import { createSectorCheck } from './http/sector-check.ts';
import type { ServerOptions } from './http/server-options.ts';
import { createSignIn } from './http/sign-in.ts';
import { refuseExpectation, refuseUnreadable, rememberAnswers } from './http/unreadable-requests.ts';
import {
  assertionSigningAlgorithms,
  clientAuthenticationMethods,
  idTokenSigningAlgorithms,
  requestObjectSigningAlgorithms,
} from './oauth/client-metadata.ts';
import { acrValues } from './oauth/acr.ts';
import { supportedClaims } from './oauth/claims.ts';
import { notFound } from './oauth/errors.ts';
import { contentEncryptionAlgorithms, keyManagementAlgorithms } from './oauth/response-encryption.ts';
import { responseModes, responseTypes } from './oauth/response-type.ts';
import { registrableScopes } from './oauth/scope.ts';
import { subjectTypes } from './oauth/subject-type.ts';
import { startLogoutDelivery } from './logout-delivery.ts';
import { createMailTransport } from './mail/transport.ts';
import { createMailComposition } from './mail-composition.ts';
import { startMailDelivery } from './mail-delivery.ts';
import { createGuardedFetch, createGuardedPost } from './outbound/guarded-fetch.ts';
import { logEvent } from './repositories/audit-events.ts';
import { createClientCache } from './repositories/client-cache.ts';
import { introduction } from './repositories/data-keys.ts';
import { createStore } from './repositories/index.ts';
import { createLimits } from './repositories/limits.ts';
import { createClientKeys } from './tokens/client-keys.ts';
import { openDataKeyRing } from './tokens/data-key-ring.ts';
import { type makeKeyPair, openKeyRing } from './tokens/key-ring.ts';
import { createRequestObjects } from './tokens/request-object.ts';
import { createTokenService } from './tokens/token-service.ts';

export interface AppOptions {
  config: Config;
  database: Database;
  /** The setting, or what is kept in DATA_DIR. */
  secretKey: string;
  logger: Logger;
  /** Less than what protects passwords only where they guard nothing, as in most tests. */
  passwordWork?: PasswordWork | undefined;
  /** Pages of the same settings, which several instances of one process may share. */
  renderer?: PageRenderer | undefined;
  /** Whence new signing keys come, if not made on the spot. */
  newKeyPair?: typeof makeKeyPair | undefined;
  /** The other processes behind the same port. */
  siblings?: Siblings | undefined;
  /** True until the first administrator exists: the service is not ready before. */
  isStarting?: (() => boolean) | undefined;
}

/** Addresses with a standard name in the discovery documents. */
export const standardEndpoints = {
  authorization_endpoint: '/authorize',
  pushed_authorization_request_endpoint: '/par',
  token_endpoint: '/token',
  revocation_endpoint: '/revoke',
  introspection_endpoint: '/introspect',
  userinfo_endpoint: '/user/info',
  jwks_uri: '/jwks',
  registration_endpoint: '/register',
  end_session_endpoint: '/logout',
  check_session_iframe: '/check-session',
};
/** Addresses of the service's own, named in the OAuth server metadata only. */
export const ownEndpoints = {
  authentication_endpoint: '/authenticate',
  user_address_endpoint: '/user/{sub}/address',
  user_info_endpoint: '/user/{sub}/info',
  user_settings_endpoint: '/user/{sub}/settings',
  user_scope_endpoint: '/user/{sub}/scope',
  client_end_session_endpoint: '/end-session',
};
/** The addresses that scripts of any origin may call. */
const crossOriginPaths = [
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/jwks',
  '/par',
  '/token',
  '/revoke',
  '/user/info',
  '/register',
  '/register/:clientId',
];
const keyRingInterval = 30_000; // milliseconds
export const handlerLimits = { handler: 19_000, interval: 1_000 }; // milliseconds

export async function buildApp({
  config,
  database,
  secretKey,
  logger,
  passwordWork,
  renderer = createPages({ basePath: config.basePath, templatesDir: config.templatesDir }),
  newKeyPair,
  siblings,
  isStarting = () => false,
}: AppOptions): Promise<FastifyInstance> {
  const passwords = createPasswordHashing({
    concurrency: config.passwordHashConcurrency,
    queue: config.passwordHashQueue,
    work: passwordWork,
  });
  const metrics = createMetrics({ database, passwords, siblings });
  const store = createStore(database, (event, log = logger) => {
    metrics.event(event);
    logEvent(log, event);
  });
  const clients = createClientCache(store);
  const dataKeyRing = await openDataKeyRing(store, secretKey);
  const { secretBox } = dataKeyRing;
  const keyRing = await openKeyRing({ store, secretBox, idTokenLifetime: config.lifetimes.idToken, newKeyPair });
  const { issuer, basePath, lifetimes } = config;
  const fetchDocument = createGuardedFetch(config.outboundAllow);
  const clientKeys = createClientKeys(fetchDocument);
  const tokens = createTokenService({
    issuer,
    keyRing,
    secretBox,
    findClient: clients.find,
    clientKeys,
    lifetimes,
    rotateConfidential: config.rotateConfidential,
  });
  const limits = createLimits(database, {
    ...config.limits,
    // of many clients together, so that invented client ids do not each get a row (security R41, R105)
    clientAuthFailuresPerNetwork: 20 * config.limits.clientAuthFailures,
    // a public client's name is all that a push needs: nobody can fill its whole room from one network
    pushedPerNetwork: Math.ceil(config.limits.pushedRequests / 10),
  });
  const activity = createActivity(store, database, (error) => {
    logger.warn({ err: error }, 'grants could not be counted');
  });
  const audit = createAuditTrail(store);
  const pages = createPageResponses(renderer, basePath);
  const knownBrowsers = createKnownBrowsers({
    store,
    basePath,
    secure: config.secureCookies,
    lifetime: lifetimes.knownBrowser,
  });
  const sessions = createBrowserSessions({
    store,
    secretBox,
    issuer,
    basePath,
    secure: config.secureCookies,
    idleLifetime: lifetimes.sessionIdle,
    lifetime: lifetimes.session,
    perUser: config.limits.sessionsPerUser,
  });
  const secondStep = createSecondStep({ store, secretBox, sessions, basePath, secure: config.secureCookies });
  const parts: Omit<ServerOptions, 'flow' | 'console'> = {
    config,
    store,
    clients,
    tokens,
    keyRing,
    secretBox,
    pages,
    passwords,
    passwordPolicy: createPasswordPolicy(config.passwordBreachCheck, fetchDocument, logger),
    knownBrowsers,
    checkPassword: createPasswordCheck({
      store,
      passwords,
      secretBox,
      limits,
      knownBrowsers,
      audit,
      freeFailures: config.limits.signInPerAccount,
    }),
    sessions,
    passkeys: createPasskeys({
      store,
      secretBox,
      sessions,
      knownBrowsers,
      limits,
      issuer,
      now: tokens.now,
      freeFailures: config.limits.signInPerAccount,
    }),
    secondFactors: createSecondFactors({
      store,
      secretBox,
      audit,
      knownBrowsers,
      issuer,
      freeFailures: config.limits.signInPerAccount,
    }),
    secondStep,
    signIn: createSignIn({ store, sessions, knownBrowsers, audit, secondStep, policy: config.secondFactor }),
    ...createClientAuthentication({
      clients,
      store,
      tokens,
      limits,
      failures: config.limits.clientAuthFailures,
      clientKeys,
      issuer,
      // RFC 7523 3, RFC 9126 2
      audiencePaths: ['/token', '/par'],
    }),
    audit,
    limits,
    metrics,
    constants: createConstantAnswers(metrics),
    activity,
    clientKeys,
    checkSector: createSectorCheck(fetchDocument),
    requestObjects: createRequestObjects({
      issuer,
      clientKeys,
      fetchDocument,
      unsigned: config.requestObjectUnsigned,
      now: tokens.now,
    }),
  };
  const options: ServerOptions = { ...parts, flow: createAuthorizationFlow(parts), console: createConsole(parts) };

  // an answer to what no route gets to see may be one to an admin route's caller
  const unroutedHeaders = { ...headersOfEveryResponse(config.secureCookies), ...adminVersionHeader };
  const app = Fastify({
    loggerInstance: logger as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    bodyLimit: 64 * 1024,
    requestTimeout: 15_000,
    childLoggerFactory: requestLog,
    // without a byte in either direction, longer than any answer takes: who does not read is cut off too (security R104)
    connectionTimeout: 30_000,
    // a request without Host is refused by us, in our form
    http: {
      maxHeaderSize: 16 * 1024,
      headersTimeout: 10_000,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false,
      ...spareEmptyBodies,
    },
    routerOptions: { maxParamLength: 255 },
    exposeHeadRoutes: false,
    // what the framework refuses before any hook runs gets the same headers and form
    frameworkErrors: (error, request, reply) => {
      reply.headers(headersOfEveryResponse(config.secureCookies));
      if (isAdminAddress(request.url, basePath)) reply.headers(adminVersionHeader);
      pages.errors(error, request, reply);
    },
    clientErrorHandler: refuseUnreadable(logger as FastifyBaseLogger, unroutedHeaders),
    // Bodies are read by zod schemas and answers written by JSON.stringify: what the framework has for either is not even loaded.
    schemaController: { compilersFactory: { buildValidator: noSchema, buildSerializer: noSchema } },
    // what still arrives on open connections is answered, each with its last answer
    return503OnClosing: false,
    forceCloseConnections: 'idle',
  });
  boundConnections(app.server, config.limits.connections, logger);
  options.constants.answerBefore(app);
  rememberAnswers(app.server);
  app.server.on('checkExpectation', refuseExpectation(logger as FastifyBaseLogger, unroutedHeaders));
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
  });
  limitHandlers(app, handlerLimits);
  metrics.measure(app);
  nameAdminVersion(app, basePath);
  const crossOriginAddresses = crossOriginPaths.map((path) => basePath + path);
  securityHeaders(app, config.secureCookies, crossOriginAddresses);
  // before any route: each takes what there is when it is made
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));
  refuseTwoAuthorizations(app);
  endEmptyBodies(app);

  const grantTypes = [authorizationCodeGrant(options), refreshTokenGrant(options), clientCredentialsGrant(options)];
  const capabilities: Capabilities = {
    endpoints: standardEndpoints,
    ownEndpoints,
    responseTypes,
    responseModes,
    grantTypes: [...grantTypes.map((grantType) => grantType.name), 'implicit'],
    prompts: promptValues(config),
    scopes: registrableScopes,
    claims: supportedClaims,
    clientAuthenticationMethods,
    assertionAlgorithms: assertionSigningAlgorithms,
    signingAlgorithms: idTokenSigningAlgorithms,
    requestObjectAlgorithms: requestObjectSigningAlgorithms.filter(
      (alg) => alg !== 'none' || config.requestObjectUnsigned,
    ),
    keyManagementAlgorithms,
    contentEncryptionAlgorithms,
    subjectTypes,
    acrValues,
    locales: renderer.availableLocales,
    registrationModes,
  };

  await app.register(
    async (root) => {
      await crossOrigin(root, crossOriginAddresses);
      await root.register(discoveryEndpoint, { ...options, capabilities });
      await root.register(jwksEndpoint, options);
      // a hook counts for what was registered beside it before, too: so in a place of its own, since what stands above asks no database
      await root.register(async (asking) => {
        sharePatience(asking);
        await asking.register(registrationEndpoint, options);
        await asking.register(pushedAuthorizationRequestEndpoint, options);
        await asking.register(tokenEndpoint, { ...options, grantTypes });
        await asking.register(userinfoEndpoint, options);
        await asking.register(revocationEndpoint, options);
        await asking.register(introspectionEndpoint, options);
        await asking.register(userDataEndpoint, options);
        await asking.register(adminEndpoint, options);
        await asking.register(healthEndpoint, {
          ...options,
          isUnfit: () => closing || isStarting() || dataKeyRing.retired,
        });
        // programs send no cookies, and are spared the looking
        await asking.register(async (browsers) => {
          // it writes them; ours are read one by one where they are needed (http/cookies.ts)
          await browsers.register(fastifyCookie, { hook: false });
          await browsers.register(authorizationEndpoint, options);
          await browsers.register(authenticationEndpoint, options);
          await browsers.register(loginEndpoint, options);
          await browsers.register(loginSecondFactorEndpoint, options);
          await browsers.register(consentEndpoint, options);
          await browsers.register(pagesEndpoint, { ...options, renderer });
          await browsers.register(logoutEndpoint, options);
          await browsers.register(endSessionEndpoint, options);
          await browsers.register(checkSessionEndpoint);
          await browsers.register(accountEndpoint, options);
          await browsers.register(accountProfileEndpoint, options);
          await browsers.register(accountPasswordEndpoint, options);
          await browsers.register(accountEmailEndpoint, options);
          await browsers.register(passwordResetEndpoint, options);
          await browsers.register(signUpEndpoint, options);
          await browsers.register(accountPasskeysEndpoint, options);
          await browsers.register(accountSessionsEndpoint, options);
          await browsers.register(accountApplicationsEndpoint, options);
          await browsers.register(accountDataEndpoint, options);
          await browsers.register(accountDeleteEndpoint, options);
          await browsers.register(accountSecondFactorsEndpoint, options);
          await browsers.register(consoleEndpoint, options);
          await browsers.register(consoleClientsEndpoint, options);
          await browsers.register(consoleUsersEndpoint, options);
          await browsers.register(consoleGroupsEndpoint, options);
          await browsers.register(consoleSearchEndpoint, options);
          await browsers.register(consoleOperationsEndpoint, options);
          await browsers.register(consoleTryItEndpoint, options);
          await browsers.register(registrationApprovalEndpoint, options);
          browsers.get('/', (_request, reply) => pages.redirect(reply, '/account'));
        });
      });
    },
    { prefix: basePath },
  );
  if (basePath !== '') {
    await app.register(async (origin) => {
      await crossOrigin(origin, [originMetadataPath(basePath)]);
      await origin.register(originDiscoveryEndpoint, { ...options, capabilities });
    });
  }

  app.setNotFoundHandler((request, reply) => {
    const error = notFound('there is nothing at this address: see the discovery document for the addresses');
    return request.headers.accept?.includes('text/html')
      ? pages.errors(error, request, reply)
      : jsonErrors(error, request, reply);
  });
  const logoutDelivery = startLogoutDelivery({
    store,
    tokens,
    post: createGuardedPost(config.outboundAllow),
    retention: lifetimes.backchannelLogoutRetention,
    logger,
  });
  app.addHook('onClose', () => logoutDelivery.stop());
  const transport = createMailTransport({
    smtpUrl: config.smtpUrl,
    folder: join(config.dataDir, 'mail'),
    from: config.mailFrom,
    host: new URL(issuer).hostname,
  });
  if (transport.kind === 'smtp') logger.info({ server: transport.place }, 'mail goes to the mail server');
  else logger.info({ folder: transport.place }, 'SMTP_URL is not set: mail is written to a folder and goes nowhere');
  const composition = createMailComposition({ config, store, renderer, limits });
  const mailDelivery = startMailDelivery({ store, composition, transport, logger });
  app.addHook('onClose', () => mailDelivery.stop());
  app.addHook('onClose', () => activity.stop());

  database.introduce(introduction(dataKeyRing.knows));
  database.listen('gatehouse', (payload) => {
    const [kind, id] = payload?.split(' ') ?? [];
    if (kind === undefined || kind === 'client') clients.forget(id);
    if (kind === undefined || kind === 'keys') void tendKeys();
    if (kind === 'data-keys') void tendDataKeys();
    if (kind === undefined || kind === 'logout') logoutDelivery.wake();
    if (kind === undefined || kind === 'mail') mailDelivery.wake();
  });
  const tendDataKeys = async () => {
    try {
      await dataKeyRing.refresh();
      database.introduce(introduction(dataKeyRing.knows));
    } catch (error) {
      if (!closing) logger.error({ err: error }, 'the data keys could not be read');
    }
  };
  const tendKeys = async () => {
    try {
      await tendDataKeys();
      await keyRing.refresh();
      await keyRing.rotateDue({ interval: lifetimes.keyRotationInterval, lead: lifetimes.keyPublicationLead });
    } catch (error) {
      // a start that failed, and a stop, close the database under it
      if (!closing) logger.error({ err: error }, 'the keys could not be read or rotated');
    }
  };
  const timer = setInterval(() => void tendKeys(), keyRingInterval);
  app.addHook('onClose', async () => clearInterval(timer));
  return app;
}

/** In the place of the framework's compilers of schemas. */
function noSchema(): never {
  throw new Error('a route has no schema: zod reads what it is sent');
}
