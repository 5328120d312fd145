// Builds the services that the feature areas declare as their dependencies.
import { createEmailCodes } from './authenticators/email-code/email-codes.ts';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { PasswordWork } from './crypto/password-hashing.ts';
import { digest } from './crypto/secrets.ts';
import type { Database } from './database/database.ts';
import { createPublicResources } from './domain/resources/public-resources.ts';
import { createClientDocuments } from './domain/client-documents/client-documents.ts';
import { createAppearance } from './domain/appearance/appearance.ts';
import { openEncryption } from './domain/keys/encryption-at-rest.ts';
import { createSamlKeys } from './domain/keys/saml-keys.ts';
import { createConnectionKinds } from './domain/connections/kinds.ts';
import { createSamlServices } from './domain/connections/saml/services.ts';
import { createDirectoryImports } from './domain/connections/ldap/import.ts';
import { createDirectorySignIn } from './domain/connections/ldap/sign-in.ts';
import { createLinkIdentity } from './domain/connections/link-identity.ts';
import { declareSubscribers } from './domain/events/subscribers.ts';
import { createOmissionNotes } from './domain/audit/groups-omitted.ts';
import { createKeepRefusal } from './domain/refusals/kept-refusals.ts';
import { createPasswordQueue } from './domain/rate-limits/password-queue.ts';
import { createLimits } from './domain/rate-limits/rate-limits.ts';
import { createHourlyGrants } from './domain/audit/hourly-grants.ts';
import { createInteractionFlow } from './interaction/flow.ts';
import { createAuthorizationBeginning } from './protocol/authorization/begin.ts';
import { relyingParties } from './protocol/relying-parties.ts';
import { createAuditTrail } from './server/audit.ts';
import { openClientCertificates } from './server/client-certificate.ts';
import { createBrowserSessions } from './browser/session.ts';
import { createClientAuthentication } from './client-authentication/client-authentication.ts';
import { createDeviceCookies } from './browser/device-cookie.ts';
import { createFormOutcomes } from './browser/form-outcomes.ts';
import { createLanguageChoice } from './browser/language-choice.ts';
import { createMetrics, type Siblings } from './server/metrics.ts';
import { createPageResponses } from './pages/page-response.ts';
import { openPages } from './pages/open-pages.ts';
import type { PageRenderer } from './pages/renderer.ts';
import { createPasskeys } from './authenticators/passkey/passkeys.ts';
import { createPasswordCheck } from './authenticators/password/check.ts';
import { createPasswordPolicy } from './domain/passwords/password-policy.ts';
import { createCodeAttempts } from './authenticators/code-attempts.ts';
import { createCountTry } from './authenticators/count-try.ts';
import { createSecondFactorEnrolment } from './authenticators/enrolment.ts';
import { createUpstreamLogout } from './authenticators/connection/upstream-logout.ts';
import { createUpstreamTokens } from './domain/connections/upstream-tokens.ts';
import { createElsewhere } from './authenticators/connection/elsewhere.ts';
import { createConnectionRouting } from './authenticators/connection/routing.ts';
import { createConnectionSteps } from './authenticators/connection/steps.ts';
import { createDirectoryPasswords } from './authenticators/directory/directory-passwords.ts';
import { authenticators } from './authenticators/list.ts';
import { createTotpEnrolment } from './authenticators/totp/enrolment.ts';
import { createSecondStep } from './interaction/second-step.ts';
import { createSectorCheck, createUnapprovedSectorCheck } from './domain/client-documents/sector-check.ts';
import { createRememberedRequests } from './interaction/remembered-request.ts';
import { createSignIn } from './interaction/sign-in.ts';
import { createDirectories } from './outbound/directories.ts';
import {
  createGuardedExchange,
  createGuardedFetch,
  createGuardedPost,
  createGuardedRead,
} from './outbound/guarded-fetch.ts';
import { createMailTransport, type MailTransport } from './outbound/mail-transport.ts';
import { logEvent } from './repositories/audit/audit-events.ts';
import { createConnectionDirectory } from './repositories/connections/connection-directory.ts';
import { createClientCache } from './repositories/clients/client-cache.ts';
import { createStore } from './repositories/store.ts';
import { createNotedUses } from './repositories/uses/noted-uses.ts';
import { createDpop } from './sender-constraint/dpop.ts';
import { createClientKeys, ofProviders } from './tokens/client-keys.ts';
import { type makeKeyPair, openKeyRing } from './tokens/key-ring.ts';
import { createRequestObjects } from './tokens/request-object.ts';
import { createTokenService } from './tokens/token-service.ts';
export interface ServiceOptions {
  config: Config;
  database: Database;
  /** The keys of SECRET_KEY, or of the file in DATA_DIR. */
  secretKeys: readonly string[];
  logger: Logger;
  /** Less than what protects passwords only where they guard nothing, as in most tests. */
  passwordWork?: PasswordWork | undefined;
  /** Pages of the same settings, which several instances of one process may share. */
  renderer?: PageRenderer | undefined;
  /** Replaces the function that makes a key pair. */
  newKeyPair?: typeof makeKeyPair | undefined;
  /** Replaces the transport that the settings name. */
  mailTransport?: MailTransport | undefined;
  /** Replaces the limits of the refusals that are kept. */
  refusalLimits?: Parameters<typeof createKeepRefusal>[1] | undefined;
  /** The other processes behind the same port. */
  siblings?: Siblings | undefined;
  /** Counts what differs from CONFIG_FILE. */
  configDrift?: (() => Promise<number>) | undefined;
}

/** One object for every feature area: each declares what it takes of it. */
export async function buildServices({
  config,
  database,
  secretKeys,
  logger,
  passwordWork,
  renderer: given,
  newKeyPair,
  mailTransport = createMailTransport(config),
  refusalLimits,
  siblings,
  configDrift,
}: ServiceOptions) {
  const renderer = await openPages(config, given);
  const passwords = createPasswordQueue({
    concurrency: config.passwordHashConcurrency,
    queue: config.passwordHashQueue,
    work: passwordWork,
  });
  const metrics = createMetrics({ database, passwords, siblings });
  const store = createStore(database, (event, log = logger) => {
    metrics.event(event);
    logEvent(log, event);
  });
  await declareSubscribers(store);
  const clients = createClientCache(store);
  const { secretBox, keys: encryptionKeys } = await openEncryption(store, secretKeys);
  const keyRing = await openKeyRing({ store, secretBox, idTokenLifetime: config.lifetimes.idToken, newKeyPair });
  const { issuer, basePath, lifetimes } = config;
  const fetchDocument = createGuardedFetch(config.outboundAllow);
  const clientKeys = createClientKeys(fetchDocument);
  const issuerKeys = createClientKeys(fetchDocument, ofProviders);
  const tokens = createTokenService({
    issuer,
    keyRing,
    secretBox,
    findClient: clients.find,
    clientKeys,
    lifetimes,
    rotateConfidential: config.rotateConfidential,
    rolesOf: store.clientRoles.ofUser,
    groupsOmitted: createOmissionNotes(store, logger),
  });
  const limits = createLimits(store, config.limits);
  const audit = createAuditTrail(store);
  const languageChoice = createLanguageChoice(config, basePath, renderer.availableLocales);
  const appearance = createAppearance(store, config.appearance);
  await appearance.refresh();
  const publicResources = createPublicResources(store);
  await publicResources.refresh();
  const pages = createPageResponses(
    renderer,
    basePath,
    languageChoice,
    () => appearance.current().brand,
    createKeepRefusal(store, refusalLimits ?? limits),
    secretBox,
  );
  const deviceCookies = createDeviceCookies({
    store,
    issuer,
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
    sessionCookie: config.sessionCookie,
    idleLifetime: lifetimes.sessionIdle,
    lifetime: lifetimes.session,
    rememberedLifetime: config.rememberMe ? lifetimes.rememberedSession : undefined,
    perUser: config.limits.sessionsPerUser,
  });
  const secondStep = createSecondStep({ store, secretBox, sessions, issuer, basePath, secure: config.secureCookies });
  const directories = createDirectories(config.connectionsAllow);
  const connectionKinds = createConnectionKinds({
    store,
    secretBox,
    fetchDocument,
    allowed: config.outboundAllow,
    issuer,
    now: tokens.now,
    exchange: createGuardedExchange(config.outboundAllow),
    directories,
    directoriesAllowed: config.connectionsAllow,
  });
  const connectionSteps = createConnectionSteps({
    store,
    secretBox,
    sessions,
    issuer,
    basePath,
    secure: config.secureCookies,
    lifetime: lifetimes.form,
    perNetwork: config.limits.pendingSignInsPerNetwork,
  });
  const upstreamTokens = createUpstreamTokens({ store, secretBox, kinds: connectionKinds, now: tokens.now });
  const connections = createConnectionDirectory(store);
  const connectionRouting = createConnectionRouting({ store, connections, connectionKinds });
  const freeFailures = config.limits.signInPerAccount;
  const { now } = tokens;
  const arrivals = openClientCertificates(config, now, metrics.certificateHeaderDropped);
  const countTry = createCountTry({ store, deviceCookies, limits, freeFailures });
  const passkeys = createPasskeys({
    store,
    secretBox,
    sessions,
    countTry,
    issuer,
    unencrypted: config.unencrypted,
    now,
  });
  const checkPassword = createPasswordCheck({
    store,
    passwords,
    secretBox,
    limits,
    deviceCookies,
    countTry,
    audit,
    freeFailures,
  });
  const linkIdentity = createLinkIdentity({ store, config, kinds: connectionKinds });
  const directorySignIn = createDirectorySignIn({
    store,
    directories,
    secretBox,
    limits,
    freeFailures,
    now,
    warn: ({ id }, error) => logger.warn({ err: error, connection: id }, 'a directory could not verify a password'),
  });
  // a deployment without directories runs none of this
  const checkDirectories =
    config.connectionsAllow.length === 0
      ? undefined
      : createDirectoryPasswords({
          store,
          directorySignIn,
          deviceCookies,
          connectionSteps,
          routing: connectionRouting,
        });
  const emailCodes = config.emailSignIn
    ? createEmailCodes({ store, secretBox, sessions, limits, countTry, config, basePath })
    : undefined;
  const attemptCode = createCodeAttempts({ store, audit, deviceCookies, freeFailures });
  const secondFactorEnrolment = createSecondFactorEnrolment({ store, audit });
  const totpEnrolment = createTotpEnrolment({ store, secretBox, secondFactorEnrolment, issuer });
  const signIn = createSignIn({
    store,
    sessions,
    deviceCookies,
    audit,
    secondStep,
    policy: config.secondFactor,
    sparedDays: config.rememberSecondFactor,
    startPage: config.startPage,
    routing: connectionRouting,
  });
  const uses = createNotedUses(store, (error) => logger.warn({ err: error }, 'the times of uses could not be stored'));
  const services = {
    config,
    configDrift,
    store,
    clients,
    tokens,
    keyRing,
    samlKeys: createSamlKeys({ store, secretBox, issuer }),
    secretBox,
    pages,
    appearance,
    publicResources,
    mailTransport,
    passwords,
    passwordPolicy: createPasswordPolicy(config.passwordBreachCheck, fetchDocument, logger),
    deviceCookies,
    checkPassword,
    sessions,
    formOutcomes: createFormOutcomes({ store, secretBox, sessions }),
    passkeys,
    emailCodes,
    authenticators: authenticators.map((create) =>
      create({
        store,
        secretBox,
        audit,
        countTry,
        attemptCode,
        checkPassword,
        checkDirectories,
        passkeys,
        emailCodes,
        totpEnrolment,
        connections,
        connectionKinds,
      }),
    ),
    connections,
    directories,
    connectionKinds,
    connectionRouting,
    connectionSteps,
    upstreamTokens,
    upstreamLogout: createUpstreamLogout({
      store,
      sessions,
      kinds: connectionKinds,
      steps: connectionSteps,
      upstreamTokens,
      issuer,
    }),
    ...createSamlServices({ store, secretBox, fetchDocument, issuer, now, logger }),
    elsewhere: createElsewhere({ store, kinds: connectionKinds, steps: connectionSteps, limits, issuer }),
    linkIdentity,
    directoryImports: createDirectoryImports({
      store,
      directories,
      secretBox,
      linkIdentity,
      now,
      warn: (id, error) => logger.warn({ err: error, connection: id }, 'a directory could not be imported'),
    }),
    secondFactorEnrolment,
    totpEnrolment,
    secondStep,
    signIn,
    rememberedRequests: createRememberedRequests({ config, store, clients, sessions, signIn }),
    uses,
    ...createClientAuthentication({
      uses,
      clients,
      store,
      tokens,
      limits,
      failures: config.limits.clientAuthFailures,
      clientKeys,
      ...arrivals,
      issuer,
      fapi2: config.fapi2,
      // RFC 7523 3, RFC 9126 2, RFC 8628 3.1, OpenID Connect CIBA Core 7.1
      audiencePaths: ['/token', '/par', '/device_authorization', '/bc-authorize'],
    }),
    ...arrivals,
    dpop: createDpop({
      ...arrivals,
      issuer,
      lifetime: config.dpop.proofLifetime,
      nonceRequired: config.dpop.nonceRequired,
      nonceKeys: [encryptionKeys[0].dpopNonce, ...encryptionKeys.slice(1).map(({ dpopNonce }) => dpopNonce)],
      now,
    }),
    audit,
    limits,
    metrics,
    hourlyGrants: createHourlyGrants(
      store,
      () => metrics.grants,
      (error) => logger.warn({ err: error }, 'grants could not be counted'),
    ),
    clientKeys,
    issuerKeys,
    clientDocuments: createClientDocuments({
      config,
      store,
      clients,
      secretBox,
      limits,
      logger,
      readDocument: createGuardedRead(config.outboundAllow),
      readForeignDocument: createGuardedRead([]),
    }),
    checkSector: createSectorCheck(fetchDocument),
    fetchDocument,
    checkUnapprovedSector: createUnapprovedSectorCheck(createGuardedFetch([])),
    requestObjects: createRequestObjects({
      issuer,
      clientKeys,
      fetchDocument,
      unsigned: config.requestObjectUnsigned,
      now,
      useOnce: (clientId, jti, expiresAt) =>
        store.clients.useAssertion(clientId, digest('request-object', jti), expiresAt),
    }),
  };
  const flow = createInteractionFlow({
    ...services,
    relyingParties: relyingParties.map((create) => create(services)),
  });
  return {
    ...services,
    database,
    renderer,
    encryptionKeys,
    post: createGuardedPost(config.outboundAllow),
    flow,
    beginAuthorization: createAuthorizationBeginning({ ...services, flow }),
  };
}
