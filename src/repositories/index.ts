// The Store: every repository on one connection, and transactions over all of them.
import type { Database, Sql } from '../database/database.ts';
import { accessTokensRepository } from './access-tokens.ts';
import { auditEventsRepository, type EventListener } from './audit-events.ts';
import { auditSearchRepository } from './audit-search.ts';
import { auditViewRepository } from './audit-view.ts';
import { authenticatorsRepository } from './authenticators.ts';
import { authorizationCodesRepository } from './authorization-codes.ts';
import { authorizationRequestsRepository } from './authorization-requests.ts';
import { clientJudgementRepository } from './client-judgement.ts';
import { clientSessionsRepository } from './client-sessions.ts';
import { clientsRepository } from './clients.ts';
import { clientSessionHandlesRepository } from './client-session-handles.ts';
import { dataKeysRepository } from './data-keys.ts';
import { deferredRegistrationsRepository } from './deferred-registrations.ts';
import { expiredRepository } from './expired.ts';
import { grantsRepository } from './grants.ts';
import { groupsRepository } from './groups.ts';
import { hourlyCountsRepository } from './hourly-counts.ts';
import { knownBrowsersRepository } from './known-browsers.ts';
import { logoutDeliveriesRepository } from './logout-deliveries.ts';
import { mailedLinksRepository } from './mailed-links.ts';
import { mailsRepository } from './mails.ts';
import { pairwiseSubjectsRepository } from './pairwise-subjects.ts';
import { passwordKindsRepository } from './password-kinds.ts';
import { passkeysRepository } from './passkeys.ts';
import { recoveryCodesRepository } from './recovery-codes.ts';
import { refreshTokensRepository } from './refresh-tokens.ts';
import { registrationTokensRepository } from './registration-tokens.ts';
import { revocationRepository } from './revocation.ts';
import { sealedValuesRepository } from './sealed-values.ts';
import { secondFactorsRepository } from './second-factors.ts';
import { sessionsRepository } from './sessions.ts';
import { signInFailuresRepository } from './sign-in-failures.ts';
import { signInsRepository } from './sign-ins.ts';
import { signingKeysRepository } from './signing-keys.ts';
import { userBatchesRepository } from './user-batches.ts';
import { userImportsRepository } from './user-imports.ts';
import { userSearchRepository } from './user-search.ts';
import { userSettingsRepository } from './user-settings.ts';
import { usersRepository } from './users.ts';
import { visitsRepository } from './visits.ts';
import { vitalSignsRepository } from './vital-signs.ts';

function repositories(sql: Sql, onEvent: EventListener) {
  return {
    accessTokens: accessTokensRepository(sql),
    auditEvents: auditEventsRepository(sql, onEvent),
    auditSearch: auditSearchRepository(sql),
    auditView: auditViewRepository(sql),
    authenticators: authenticatorsRepository(sql),
    authorizationCodes: authorizationCodesRepository(sql),
    authorizationRequests: authorizationRequestsRepository(sql, onEvent),
    clientSessionHandles: clientSessionHandlesRepository(sql),
    clientJudgement: clientJudgementRepository(sql),
    clientSessions: clientSessionsRepository(sql),
    clients: clientsRepository(sql),
    dataKeys: dataKeysRepository(sql),
    deferredRegistrations: deferredRegistrationsRepository(sql),
    expired: expiredRepository(sql),
    grants: grantsRepository(sql),
    groups: groupsRepository(sql),
    hourlyCounts: hourlyCountsRepository(sql),
    knownBrowsers: knownBrowsersRepository(sql),
    logoutDeliveries: logoutDeliveriesRepository(sql),
    mailedLinks: mailedLinksRepository(sql),
    mails: mailsRepository(sql),
    pairwiseSubjects: pairwiseSubjectsRepository(sql),
    passkeys: passkeysRepository(sql),
    passwordKinds: passwordKindsRepository(sql),
    recoveryCodes: recoveryCodesRepository(sql),
    refreshTokens: refreshTokensRepository(sql),
    registrationTokens: registrationTokensRepository(sql),
    revocation: revocationRepository(sql),
    sealedValues: sealedValuesRepository(sql),
    secondFactors: secondFactorsRepository(sql),
    sessions: sessionsRepository(sql),
    signInFailures: signInFailuresRepository(sql),
    signIns: signInsRepository(sql, onEvent),
    signingKeys: signingKeysRepository(sql),
    userBatches: userBatchesRepository(sql),
    userImports: userImportsRepository(sql),
    userSearch: userSearchRepository(sql),
    userSettings: userSettingsRepository(sql),
    users: usersRepository(sql),
    visits: visitsRepository(sql),
    vitalSigns: vitalSignsRepository(sql),
  };
}

export type Repositories = ReturnType<typeof repositories>;

export interface Store extends Repositories {
  /** Runs `work` in one transaction; it may run again after a deadlock, so it must have no effect but its statements. */
  transaction<T>(work: (store: Repositories) => Promise<T>): Promise<T>;
}

/** @param onEvent hears of every event of the audit trail that this store records, once it is stored */
export function createStore(database: Database, onEvent: EventListener = () => undefined): Store {
  return {
    ...repositories(database, onEvent),
    async transaction(work) {
      let events: Parameters<EventListener>[] = [];
      const result = await database.transaction((sql) => {
        events = []; // of a try that was taken back nobody hears
        return work(repositories(sql, (...event) => void events.push(event)));
      });
      for (const event of events) onEvent(...event);
      return result;
    },
  };
}
