// Stores a user's decision about a device, with its grant, its authorization code and the event, in one transaction.
import { randomUUID } from 'node:crypto';
import type { Config } from '../../config.ts';
import type { ResponseRefusal } from '../../oauth/authorization-response.ts';
import { conflict, OAuthError } from '../../oauth/errors.ts';
import { isServiceScopeOf } from '../../oauth/scope.ts';
import type { AskedDetail } from '../../sender-constraint/authorization-details.ts';
import { authorizedFor, resourceGrants, type Target } from '../../sender-constraint/audience.ts';
import { deviceGrant } from '../../oauth/registrable-values.ts';
import type { AuditLog } from '../../repositories/audit/audit-events.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Store } from '../../repositories/store.ts';

/** How many devices one session and client may have that have not yet got their tokens (security R19). */
const codesPerClientSession = 5;

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
    const { deviceAuthorizations, grants, authorizationCodes, clientSessions, auditEvents, usedForms } = repositories;
    const device = await deviceAuthorizations.decide(userCodeHashes, approved ? 'approved' : 'denied');
    if (device?.clientId !== clientId) throw new NotIssued('answered');
    await usedForms.keep(formHash);
    const { deviceCodeHash, scope, lifetime, binding } = device;
    if (approved) {
      const ofService = scope.filter(isServiceScopeOf(client));
      const added = { scope: ofService, claims: [], resources: resourceGrants(targets) };
      const details = asked.map(({ detail }) => detail);
      await grants.add(sub, clientId, added, undefined);
      const issued = await authorizationCodes.issue({
        codeHash: deviceCodeHash,
        accessTokenHash: undefined,
        sessionId: session.id,
        clientId,
        clientVersion: client.version,
        scope,
        claims: [],
        requested: undefined,
        offline: scope.includes('offline_access'),
        redirectUri: deviceGrant,
        nonce: undefined,
        codeChallenge: undefined,
        codeBinding: binding,
        ...authorizedFor(targets),
        details: details.length > 0 ? details.map((one) => ({ ...one, id: randomUUID() })) : undefined,
        shownDetails: details,
        subject,
        lifetime,
        accessTokenLifetime: 0,
        clientSessionLifetime: lifetime,
        requestHash: undefined,
        maxCodes: codesPerClientSession,
        maxPerMinute,
        address,
      });
      if ('refusal' in issued) throw new NotIssued(issued.refusal);
      await clientSessions.markAsDevice(deviceCodeHash);
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
    if (error.refusal === 'ended') throw conflict('the session, the client or the consent changed in the meantime');
    const wait = Math.max(1, await store.authorizationCodes.findWait(session.id, maxPerMinute));
    const description = `too many sign-ins to applications in this browser: wait ${wait} seconds`;
    throw new OAuthError('temporarily_unavailable', description, 429, { headers: { 'retry-after': String(wait) } });
  }
}

/** Rolls the transaction back. */
class NotIssued extends Error {
  readonly refusal: ResponseRefusal;
  constructor(refusal: ResponseRefusal) {
    super(refusal);
    this.refusal = refusal;
  }
}
