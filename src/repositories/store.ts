// Creates the Store: all repositories on one database, and transactions over them.
import type { Database, Sql } from '../database/database.ts';
import { accessTokensRepository } from './tokens/access-tokens.ts';
import { appearanceRepository } from './appearance/appearance.ts';
import { attributesRepository } from './attributes/attributes.ts';
import { auditEventsRepository, type EventListener } from './audit/audit-events.ts';
import { auditStreamRepository } from './audit/audit-stream.ts';
import { auditSearchRepository } from './audit/audit-search.ts';
import { auditViewRepository } from './audit/audit-view.ts';
import { authorizationCodesRepository } from './tokens/authorization-codes.ts';
import { authorizationRequestsRepository } from './authorization-requests/authorization-requests.ts';
import { clientAccessRepository } from './clients/client-access.ts';
import { clientDocumentsRepository } from './client-documents/client-documents.ts';
import { clientCertificatesRepository } from './clients/client-certificates.ts';
import { clientReviewRepository } from './clients/client-review.ts';
import { clientSessionsRepository } from './sessions/client-sessions.ts';
import { clientRolesRepository } from './claims/client-roles.ts';
import { clientsRepository } from './clients/clients.ts';
import { clientSessionHandlesRepository } from './sessions/client-session-handles.ts';
import { deferredRegistrationsRepository } from './registrations/deferred-registrations.ts';
import { backchannelRequestsRepository } from './backchannel-requests/backchannel-requests.ts';
import { deviceAuthorizationsRepository } from './device-authorizations/device-authorizations.ts';
import { doctorProbesRepository } from './doctor/doctor-probes.ts';
import { doctorViewRepository } from './doctor/doctor-view.ts';
import { dpopProofsRepository } from './tokens/dpop-proofs.ts';
import { eventSubscriptionsRepository } from './outbox/event-subscriptions.ts';
import { assertionGrantsRepository } from './tokens/assertion-grants.ts';
import { trustedIssuersRepository } from './exchange/trusted-issuers.ts';
import { authorizationDetailsTypesRepository } from './details/authorization-details-types.ts';
import { connectedServersRepository } from './exchange/connected-servers.ts';
import { idJagsRepository } from './tokens/id-jags.ts';
import { exchangePoliciesRepository } from './exchange/exchange-policies.ts';
import { expiredRepository } from './retention/expired.ts';
import { grantsRepository } from './clients/grants.ts';
import { groupsRepository } from './groups/groups.ts';
import { hourlyCountsRepository } from './audit/hourly-counts.ts';
import { imagesRepository } from './images/images.ts';
import { instancesRepository } from './instances/instances.ts';
import { formOutcomesRepository } from './sessions/form-outcomes.ts';
import { keptObjectsRepository } from './kept-objects/kept-objects.ts';
import { planEffectsRepository } from './kept-objects/plan-effects.ts';
import { keptFormsRepository } from './kept-forms/kept-forms.ts';
import { knownBrowsersRepository } from './sessions/device-cookies.ts';
import { logoutDeliveriesRepository } from './logout-deliveries/logout-deliveries.ts';
import { mailedLinksRepository } from './mailed-links/mailed-links.ts';
import { signInCodesRepository } from './sign-in-codes/sign-in-codes.ts';
import { membershipsRepository } from './groups/memberships.ts';
import { mailsRepository } from './outbox/mails.ts';
import { outboxRepository } from './outbox/outbox.ts';
import { pairwiseSubjectsRepository } from './clients/pairwise-subjects.ts';
import { passwordKindsRepository } from './users/password-kinds.ts';
import { passkeysRepository } from './second-factors/passkeys.ts';
import { provisionedGroupsRepository } from './provisioning/provisioned-groups.ts';
import { provisionedUsersRepository } from './provisioning/provisioned-users.ts';
import { provisioningTargetsRepository } from './provisioning/provisioning-targets.ts';
import { rateLimitsRepository } from './rate-limits/rate-limits.ts';
import { recoveryCodesRepository } from './second-factors/recovery-codes.ts';
import type { Entity } from '../entities/entity.ts';
import { entityRepository, type entityTable } from './entities.ts';
import { referencesRepository } from './entity-references.ts';
import { refreshTokensRepository } from './tokens/refresh-tokens.ts';
import { refusalsRepository } from './refusals/refusals.ts';
import { registrationTokensRepository } from './registrations/registration-tokens.ts';
import { resourcesRepository } from './resources/resources.ts';
import { revocationRepository } from './tokens/revocation.ts';
import { sealedValuesRepository } from './keys/sealed-values.ts';
import { samlKeysRepository } from './saml/saml-keys.ts';
import { samlSessionsRepository } from './saml/saml-sessions.ts';
import { scopesRepository } from './claims/scopes.ts';
import { scimGroupsRepository } from './scim/scim-groups.ts';
import { scimSourcesRepository } from './scim/scim-sources.ts';
import { scimUsersRepository } from './scim/scim-users.ts';
import { secondFactorsRepository } from './second-factors/second-factors.ts';
import { serviceSettingsRepository } from './service-settings/service-settings.ts';
import { sitesRepository } from './sites/sites.ts';
import { sessionsRepository } from './sessions/sessions.ts';
import { signInContextsRepository } from './sessions/sign-in-context.ts';
import { signInFailuresRepository } from './sessions/sign-in-failures.ts';
import { signUpLinksRepository } from './sign-up-links/sign-up-links.ts';
import { signInsRepository } from './sessions/sign-ins.ts';
import { signingKeysRepository } from './keys/signing-keys.ts';
import { storedFunctionsRepository } from './retention/stored-functions.ts';
import { tokenExchangeRepository } from './tokens/token-exchange.ts';
import { totpAuthenticatorsRepository } from './second-factors/totp-authenticators.ts';
import { unstoredAddressesRepository } from './users/unstored-addresses.ts';
import { userBatchesRepository } from './users/user-batches.ts';
import { userImportsRepository } from './users/user-imports.ts';
import { userSearchRepository } from './users/user-search.ts';
import { userSettingsRepository } from './users/user-settings.ts';
import { usedFormsRepository } from './sessions/used-forms.ts';
import { usersRepository } from './users/users.ts';
import { webhookDeliveriesRepository } from './webhooks/webhook-deliveries.ts';
import { webhooksRepository } from './webhooks/webhooks.ts';
import { wordConfirmationsRepository } from './users/word-confirmations.ts';
import { breakGlassRepository } from './connections/break-glass.ts';
import { connectionStepsRepository } from './connections/connection-steps.ts';
import { connectionsRepository } from './connections/connections.ts';
import { directoryImportsRepository } from './connections/directory-imports.ts';
import { linkedIdentitiesRepository } from './connections/linked-identities.ts';
import { upstreamLogoutsRepository } from './connections/upstream-logouts.ts';
import { upstreamTokensRepository } from './connections/upstream-tokens.ts';
import { databaseStatusRepository } from './database-status/database-status.ts';
import { usesRepository } from './uses/uses.ts';

const factories = {
  accessTokens: accessTokensRepository,
  appearance: appearanceRepository,
  attributes: attributesRepository,
  assertionGrants: assertionGrantsRepository,
  auditEvents: auditEventsRepository,
  auditSearch: auditSearchRepository,
  auditStream: auditStreamRepository,
  auditView: auditViewRepository,
  authorizationCodes: authorizationCodesRepository,
  authorizationRequests: authorizationRequestsRepository,
  breakGlass: breakGlassRepository,
  clientSessionHandles: clientSessionHandlesRepository,
  clientAccess: clientAccessRepository,
  clientCertificates: clientCertificatesRepository,
  clientDocuments: clientDocumentsRepository,
  clientReview: clientReviewRepository,
  clientSessions: clientSessionsRepository,
  clientRoles: clientRolesRepository,
  uses: usesRepository,
  clients: clientsRepository,
  connectionSteps: connectionStepsRepository,
  authorizationDetailsTypes: authorizationDetailsTypesRepository,
  connectedServers: connectedServersRepository,
  connections: connectionsRepository,
  deferredRegistrations: deferredRegistrationsRepository,
  deviceAuthorizations: deviceAuthorizationsRepository,
  backchannelRequests: backchannelRequestsRepository,
  directoryImports: directoryImportsRepository,
  doctorProbes: doctorProbesRepository,
  doctorView: doctorViewRepository,
  dpopProofs: dpopProofsRepository,
  eventSubscriptions: eventSubscriptionsRepository,
  exchangePolicies: exchangePoliciesRepository,
  expired: (sql: Sql) => expiredRepository(sql),
  grants: grantsRepository,
  groups: groupsRepository,
  hourlyCounts: hourlyCountsRepository,
  idJags: idJagsRepository,
  images: imagesRepository,
  instances: instancesRepository,
  knownBrowsers: knownBrowsersRepository,
  linkedIdentities: linkedIdentitiesRepository,
  upstreamLogouts: upstreamLogoutsRepository,
  upstreamTokens: upstreamTokensRepository,
  keptForms: keptFormsRepository,
  keptObjects: keptObjectsRepository,
  planEffects: planEffectsRepository,
  formOutcomes: formOutcomesRepository,
  logoutDeliveries: logoutDeliveriesRepository,
  mailedLinks: mailedLinksRepository,
  signInCodes: signInCodesRepository,
  mails: mailsRepository,
  memberships: membershipsRepository,
  outbox: outboxRepository,
  pairwiseSubjects: pairwiseSubjectsRepository,
  passkeys: passkeysRepository,
  passwordKinds: passwordKindsRepository,
  provisionedGroups: provisionedGroupsRepository,
  provisionedUsers: provisionedUsersRepository,
  provisioningTargets: provisioningTargetsRepository,
  rateLimits: rateLimitsRepository,
  recoveryCodes: recoveryCodesRepository,
  references: referencesRepository,
  refreshTokens: refreshTokensRepository,
  refusals: refusalsRepository,
  registrationTokens: registrationTokensRepository,
  resources: resourcesRepository,
  revocation: revocationRepository,
  samlKeys: samlKeysRepository,
  samlSessions: samlSessionsRepository,
  sealedValues: sealedValuesRepository,
  scimGroups: scimGroupsRepository,
  scimSources: scimSourcesRepository,
  scimUsers: scimUsersRepository,
  scopes: scopesRepository,
  secondFactors: secondFactorsRepository,
  serviceSettings: serviceSettingsRepository,
  sessions: sessionsRepository,
  sites: sitesRepository,
  signInContexts: signInContextsRepository,
  signInFailures: signInFailuresRepository,
  signIns: signInsRepository,
  signUpLinks: signUpLinksRepository,
  signingKeys: signingKeysRepository,
  storedFunctions: storedFunctionsRepository,
  tokenExchange: tokenExchangeRepository,
  totpAuthenticators: totpAuthenticatorsRepository,
  trustedIssuers: trustedIssuersRepository,
  usedForms: usedFormsRepository,
  unstoredAddresses: unstoredAddressesRepository,
  userBatches: userBatchesRepository,
  userImports: userImportsRepository,
  userSearch: userSearchRepository,
  userSettings: userSettingsRepository,
  users: usersRepository,
  webhookDeliveries: webhookDeliveriesRepository,
  webhooks: webhooksRepository,
  wordConfirmations: wordConfirmationsRepository,
  databaseStatus: databaseStatusRepository,
};

type Factories = typeof factories;
export type Repositories = { readonly [Name in keyof Factories]: ReturnType<Factories[Name]> } & {
  /** The repository of an entity that has no statements of its own. */
  entity<E extends Entity>(table: ReturnType<typeof entityTable<E>>): ReturnType<typeof entityRepository<E>>;
};

export interface Store extends Repositories {
  /** Runs `work` in one transaction. It is retried after a deadlock, so it must have no effect but its statements. */
  transaction<T>(work: (store: Repositories) => Promise<T>): Promise<T>;
}

/** Makes each repository at its first use: a transaction uses few of them. */
class LazyRepositories {
  readonly #sql: Sql;
  readonly #onEvent: EventListener;
  readonly #made: Record<string, object> = {};

  constructor(sql: Sql, onEvent: EventListener) {
    this.#sql = sql;
    this.#onEvent = onEvent;
  }

  entity<E extends Entity>(table: ReturnType<typeof entityTable<E>>): ReturnType<typeof entityRepository<E>> {
    return entityRepository(table, this.#sql);
  }

  static {
    for (const [name, make] of Object.entries(factories))
      Object.defineProperty(LazyRepositories.prototype, name, {
        get(this: LazyRepositories) {
          return (this.#made[name] ??= make(this.#sql, this.#onEvent));
        },
      });
  }
}

// the compiler does not see the properties that the class gets from the list of factories
const repositories = (sql: Sql, onEvent: EventListener) =>
  new LazyRepositories(sql, onEvent) as unknown as Repositories;

/** A store whose transactions are parts of the one that is open: what many changes do is done as a whole, or not at all. */
export const storeWithin = (repositories: Repositories): Store => {
  const transaction: Store['transaction'] = (work) => work(repositories);
  return Object.assign(repositories, { transaction });
};

/** @param onEvent called for each audit event of this store, once it is stored */
export function createStore(database: Database, onEvent: EventListener = () => undefined): Store {
  const transaction: Store['transaction'] = async (work) => {
    let events: Parameters<EventListener>[] = [];
    const result = await database.transaction((sql) => {
      events = []; // the events of a rolled-back attempt are not reported
      return work(repositories(sql, (...event) => void events.push(event)));
    });
    for (const event of events) onEvent(...event);
    return result;
  };
  return Object.assign(repositories(database, onEvent), { transaction });
}
