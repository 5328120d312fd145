// Stores a user's decision about backchannel requests, with the grant, the authorization code and the event, in one transaction.
import type { Config } from '../../config.ts';
import { issueDeferred, NotIssued, refusalOfIssue } from '../../domain/sessions/issue-deferred.ts';
import { cibaGrant } from '../../oauth/registrable-values.ts';
import type { AuditLog } from '../../repositories/audit/audit-events.ts';
import type { BackchannelRequest } from '../../repositories/backchannel-requests/backchannel-requests.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import type { AskedDetail } from '../../sender-constraint/authorization-details.ts';
import { authorizedFor, resourceGrants, type Target } from '../../sender-constraint/audience.ts';

/** A request with what its page shows. */
export interface Shown {
  asked: BackchannelRequest;
  client: Client;
  targets: readonly Target[];
  details: readonly AskedDetail[];
}

export interface Decider {
  session: Session;
  address: string | undefined;
  log: AuditLog;
  /** Of the form that decides. */
  formHash: Buffer | undefined;
}

type Dependencies = {
  config: Pick<Config, 'limits'>;
  store: Pick<Store, 'transaction' | 'pairwiseSubjects' | 'authorizationCodes'>;
};

/**
 * Approves a request. It issues an authorization code under the digest of its auth_req_id, as for a device.
 * @returns `unconfirmed` if the user must sign in for this request, `gone` if it no longer waits
 * @throws OAuthError
 */
export async function approve(
  { config, store }: Dependencies,
  { asked, client, targets, details: shown }: Shown,
  by: Decider,
): Promise<'decided' | 'unconfirmed' | 'gone'> {
  const { session, address } = by;
  const maxPerMinute = config.limits.codesPerSession;
  const subject = await store.pairwiseSubjects.obtain(client.metadata, session.user.sub);
  try {
    return await store.transaction(async (repositories) => {
      const decision = await repositories.backchannelRequests.decide(asked.id, ofSession(session), 'approved');
      if (decision.outcome !== 'decided') return decision.outcome;
      await repositories.usedForms.keep(by.formHash);
      const { codeHash, scope, binding } = asked;
      const details = shown.map(({ detail }) => detail);
      const of = { resources: resourceGrants(targets), authorized: authorizedFor(targets), details };
      const approval = { ...of, session, client, codeHash, scope, binding, subject, maxPerMinute, address };
      await issueDeferred(repositories, { ...approval, lifetime: decision.seconds, grantType: cibaGrant });
      await record(repositories, 'backchannel.approved', asked, by);
      return 'decided';
    });
  } catch (error) {
    if (!(error instanceof NotIssued)) throw error;
    throw await refusalOfIssue(store, session, maxPerMinute, error);
  }
}

/** Denies requests, all or none. @returns how many of them still waited */
export function deny({ store }: Dependencies, requests: readonly BackchannelRequest[], by: Decider): Promise<number> {
  return store.transaction(async (repositories) => {
    let denied = 0;
    for (const asked of requests) {
      const { outcome } = await repositories.backchannelRequests.decide(asked.id, ofSession(by.session), 'denied');
      if (outcome !== 'decided') continue;
      denied++;
      await record(repositories, 'backchannel.denied', asked, by);
    }
    if (denied > 0) await repositories.usedForms.keep(by.formHash);
    return denied;
  });
}

const ofSession = ({ id, user }: Session) => ({ sub: user.sub, sessionId: id });

function record(
  { auditEvents }: Pick<Repositories, 'auditEvents'>,
  type: 'backchannel.approved' | 'backchannel.denied',
  { clientId, scope }: BackchannelRequest,
  { session, address, log }: Decider,
): Promise<void> {
  const { sub } = session.user;
  return auditEvents.insert({ type, outcome: 'success', actor: sub, sub, clientId, address, detail: { scope } }, log);
}
