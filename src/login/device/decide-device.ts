// Stores a user's decision about a device, with its grant, its authorization code and the event, in one transaction.
import type { Config } from '../../config.ts';
import type { AskedDetail } from '../../sender-constraint/authorization-details.ts';
import { issueDeferred, NotIssued, refusalOfIssue } from '../../domain/sessions/issue-deferred.ts';
import { authorizedFor, resourceGrants, type Target } from '../../sender-constraint/audience.ts';
import { deviceGrant } from '../../oauth/registrable-values.ts';
import type { AuditLog } from '../../repositories/audit/audit-events.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Store } from '../../repositories/store.ts';

interface Decision {
  /** Of the user code, one for each valid key. */
  userCodeHashes: Buffer[];
  approved: boolean;
  session: Session;
  /** The client as the page showed it. */
  client: Client;
  /** The resources that the request is for, as the page shows them. */
  targets: readonly Target[];
  /** The authorization details that it asks for, as the page shows them. */
  details: readonly AskedDetail[];
  address: string | undefined;
  /** Of the form that decides. */
  formHash: Buffer | undefined;
}

/**
 * Decides about a device's request. An approval issues an authorization code under the digest of the device code: the session, the user,
 * the client and the consent are checked now, and again when the device redeems it.
 * @param log the log for the event's line
 * @returns false if the request no longer waits
 * @throws OAuthError
 */
export async function decideDevice(
  {
    config,
    store,
  }: { config: Pick<Config, 'limits'>; store: Pick<Store, 'transaction' | 'pairwiseSubjects' | 'authorizationCodes'> },
  { userCodeHashes, approved, session, client, targets, details: asked, address, formHash }: Decision,
  log: AuditLog,
): Promise<boolean> {
  const { sub } = session.user;
  const { clientId } = client;
  const maxPerMinute = config.limits.codesPerSession;
  const subject = approved ? await store.pairwiseSubjects.obtain(client.metadata, sub) : undefined;
  const decision = store.transaction(async (repositories) => {
    const { deviceAuthorizations, clientSessions, auditEvents, usedForms } = repositories;
    const device = await deviceAuthorizations.decide(userCodeHashes, approved ? 'approved' : 'denied');
    if (device?.clientId !== clientId) throw new NotIssued('answered');
    await usedForms.keep(formHash);
    const { deviceCodeHash: codeHash, scope, lifetime, binding } = device;
    if (approved) {
      const details = asked.map(({ detail }) => detail);
      const of = { resources: resourceGrants(targets), authorized: authorizedFor(targets), details };
      const approval = { ...of, session, client, codeHash, scope, binding, subject, lifetime, maxPerMinute, address };
      await issueDeferred(repositories, { ...approval, grantType: deviceGrant });
      await clientSessions.markAsDevice(codeHash);
    }
    const type = approved ? 'device.approved' : 'device.denied';
    const event = { type, outcome: 'success', actor: sub, sub, clientId, address, detail: { scope } } as const;
    await auditEvents.insert(event, log);
  });
  try {
    await decision;
    return true;
  } catch (error) {
    if (!(error instanceof NotIssued)) throw error;
    if (error.refusal === 'answered') return false;
    throw await refusalOfIssue(store, session, maxPerMinute, error);
  }
}
