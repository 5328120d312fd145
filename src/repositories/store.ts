// Creates the Store: all repositories on one database, and transactions over them.
import type { Database, Sql } from '../database/database.ts';
import { accessTokensRepository } from './tokens/access-tokens.ts';
import { appearanceRepository } from './appearance/appearance.ts';
import { attributesRepository } from './attributes/attributes.ts';
import { auditEventsRepository, type EventListener } from './audit/audit-events.ts';
import { auditSearchRepository } from './audit/audit-search.ts';
import { auditViewRepository } from './audit/audit-view.ts';
import { authorizationCodesRepository } from './tokens/authorization-codes.ts';
import { authorizationRequestsRepository } from './authorization-requests/authorization-requests.ts';
import { clientAccessRepository } from './clients/client-access.ts';
import { clientDocumentsRepository } from './client-documents/client-documents.ts';
import { clientReviewRepository } from './clients/client-review.ts';
import { clientSessionsRepository } from './sessions/client-sessions.ts';
import { clientRolesRepository } from './claims/client-roles.ts';
import { clientsRepository } from './clients/clients.ts';
import { clientSessionHandlesRepository } from './sessions/client-session-handles.ts';
import { deferredRegistrationsRepository } from './registrations/deferred-registrations.ts';
import { deviceAuthorizationsRepository } from './device-authorizations/device-authorizations.ts';
import { dpopProofsRepository } from './tokens/dpop-proofs.ts';
import { eventSubscriptionsRepository } from './outbox/event-subscriptions.ts';
import { expiredRepository } from './retention/expired.ts';
import { grantsRepository } from './clients/grants.ts';
import { groupsRepository } from './groups/groups.ts';
import { hourlyCountsRepository } from './audit/hourly-counts.ts';
import { instancesRepository } from './instances/instances.ts';
import { formOutcomesRepository } from './sessions/form-outcomes.ts';
import { keptFormsRepository } from './kept-forms/kept-forms.ts';
import { knownBrowsersRepository } from './sessions/device-cookies.ts';
import { logoutDeliveriesRepository } from './logout-deliveries/logout-deliveries.ts';
import { mailedLinksRepository } from './mailed-links/mailed-links.ts';
import { membershipsRepository } from './groups/memberships.ts';
import { mailsRepository } from './outbox/mails.ts';
import { outboxRepository } from './outbox/outbox.ts';
import { pairwiseSubjectsRepository } from './clients/pairwise-subjects.ts';
import { passwordKindsRepository } from './users/password-kinds.ts';
import { passkeysRepository } from './second-factors/passkeys.ts';
import { rateLimitsRepository } from './rate-limits/rate-limits.ts';
import { recoveryCodesRepository } from './second-factors/recovery-codes.ts';
import { refreshTokensRepository } from './tokens/refresh-tokens.ts';
import { refusalsRepository } from './refusals/refusals.ts';
import { registrationTokensRepository } from './registrations/registration-tokens.ts';
import { resourcesRepository } from './resources/resources.ts';
import { revocationRepository } from './tokens/revocation.ts';
import { sealedValuesRepository } from './keys/sealed-values.ts';
import { scopesRepository } from './claims/scopes.ts';
import { secondFactorsRepository } from './second-factors/second-factors.ts';
import { serviceSettingsRepository } from './service-settings/service-settings.ts';
import { sessionsRepository } from './sessions/sessions.ts';
import { signInContextsRepository } from './sessions/sign-in-context.ts';
import { signInFailuresRepository } from './sessions/sign-in-failures.ts';
import { signInsRepository } from './sessions/sign-ins.ts';
import { signingKeysRepository } from './keys/signing-keys.ts';
import { storedFunctionsRepository } from './retention/stored-functions.ts';
import { totpAuthenticatorsRepository } from './second-factors/totp-authenticators.ts';
import { unstoredAddressesRepository } from './users/unstored-addresses.ts';
import { userBatchesRepository } from './users/user-batches.ts';
import { userImportsRepository } from './users/user-imports.ts';
import { userSearchRepository } from './users/user-search.ts';
import { userSettingsRepository } from './users/user-settings.ts';
import { usedFormsRepository } from './sessions/used-forms.ts';
import { usersRepository } from './users/users.ts';
import { wordConfirmationsRepository } from './users/word-confirmations.ts';
import { breakGlassRepository } from './connections/break-glass.ts';
import { connectionStepsRepository } from './connections/connection-steps.ts';
import { connectionsRepository } from './connections/connections.ts';
import { directoryImportsRepository } from './connections/directory-imports.ts';
import { linkedIdentitiesRepository } from './connections/linked-identities.ts';
import { upstreamLogoutsRepository } from './connections/upstream-logouts.ts';
import { upstreamTokensRepository } from './connections/upstream-tokens.ts';
import { databaseStatusRepository } from './database-status/database-status.ts';

function repositories(sql: Sql, onEvent: EventListener) {
  return {
    accessTokens: accessTokensRepository(sql),
    appearance: appearanceRepository(sql),
    attributes: attributesRepository(sql),
    auditEvents: auditEventsRepository(sql, onEvent),
    auditSearch: auditSearchRepository(sql),
    auditView: auditViewRepository(sql),
    authorizationCodes: authorizationCodesRepository(sql),
    authorizationRequests: authorizationRequestsRepository(sql),
    breakGlass: breakGlassRepository(sql),
    clientSessionHandles: clientSessionHandlesRepository(sql),
    clientAccess: clientAccessRepository(sql),
    clientDocuments: clientDocumentsRepository(sql),
    clientReview: clientReviewRepository(sql),
    clientSessions: clientSessionsRepository(sql),
    clientRoles: clientRolesRepository(sql),
    clients: clientsRepository(sql),
    connectionSteps: connectionStepsRepository(sql),
    connections: connectionsRepository(sql),
    deferredRegistrations: deferredRegistrationsRepository(sql),
    deviceAuthorizations: deviceAuthorizationsRepository(sql),
    directoryImports: directoryImportsRepository(sql),
    dpopProofs: dpopProofsRepository(sql),
    eventSubscriptions: eventSubscriptionsRepository(sql),
    expired: expiredRepository(sql),
    grants: grantsRepository(sql),
    groups: groupsRepository(sql),
    hourlyCounts: hourlyCountsRepository(sql),
    instances: instancesRepository(sql),
    knownBrowsers: knownBrowsersRepository(sql),
    linkedIdentities: linkedIdentitiesRepository(sql),
    upstreamLogouts: upstreamLogoutsRepository(sql),
    upstreamTokens: upstreamTokensRepository(sql),
    keptForms: keptFormsRepository(sql),
    formOutcomes: formOutcomesRepository(sql),
    logoutDeliveries: logoutDeliveriesRepository(sql),
    mailedLinks: mailedLinksRepository(sql),
    mails: mailsRepository(sql),
    memberships: membershipsRepository(sql),
    outbox: outboxRepository(sql),
    pairwiseSubjects: pairwiseSubjectsRepository(sql),
    passkeys: passkeysRepository(sql),
    passwordKinds: passwordKindsRepository(sql),
    rateLimits: rateLimitsRepository(sql),
    recoveryCodes: recoveryCodesRepository(sql),
    refreshTokens: refreshTokensRepository(sql),
    refusals: refusalsRepository(sql),
    registrationTokens: registrationTokensRepository(sql),
    resources: resourcesRepository(sql),
    revocation: revocationRepository(sql),
    sealedValues: sealedValuesRepository(sql),
    scopes: scopesRepository(sql),
    secondFactors: secondFactorsRepository(sql),
    serviceSettings: serviceSettingsRepository(sql),
    sessions: sessionsRepository(sql),
    signInContexts: signInContextsRepository(sql),
    signInFailures: signInFailuresRepository(sql),
    signIns: signInsRepository(sql, onEvent),
    signingKeys: signingKeysRepository(sql),
    storedFunctions: storedFunctionsRepository(sql),
    totpAuthenticators: totpAuthenticatorsRepository(sql),
    usedForms: usedFormsRepository(sql),
    unstoredAddresses: unstoredAddressesRepository(sql),
    userBatches: userBatchesRepository(sql),
    userImports: userImportsRepository(sql),
    userSearch: userSearchRepository(sql),
    userSettings: userSettingsRepository(sql),
    users: usersRepository(sql),
    wordConfirmations: wordConfirmationsRepository(sql),
    databaseStatus: databaseStatusRepository(sql),
  };
}

export type Repositories = ReturnType<typeof repositories>;

export interface Store extends Repositories {
  /** Runs `work` in one transaction. It is retried after a deadlock, so it must have no effect but its statements. */
  transaction<T>(work: (store: Repositories) => Promise<T>): Promise<T>;
}

/** @param onEvent called for each audit event of this store, once it is stored */
export function createStore(database: Database, onEvent: EventListener = () => undefined): Store {
  return {
    ...repositories(database, onEvent),
    async transaction(work) {
      let events: Parameters<EventListener>[] = [];
      const result = await database.transaction((sql) => {
        events = []; // the events of a rolled-back attempt are not reported
        return work(repositories(sql, (...event) => void events.push(event)));
      });
      for (const event of events) onEvent(...event);
      return result;
    },
  };
}
