// Issues the authorization code of a deferred authorization that its user approves: under the digest of the code with which the client polls.
import { randomUUID } from 'node:crypto';
import type { Detail } from '../../oauth/authorization-details.ts';
import { conflict, OAuthError } from '../../oauth/errors.ts';
import type { Binding } from '../../oauth/binding.ts';
import type { ResponseRefusal } from '../../oauth/authorization-response.ts';
import type { Granted } from '../../oauth/granted.ts';
import { isServiceScopeOf } from '../../oauth/scope.ts';
import type { NewResponse } from '../../repositories/tokens/authorization-codes.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Repositories, Store } from '../../repositories/store.ts';

/** How many approved requests one session and client may have that have not yet got their tokens (security R19). */
const codesPerClientSession = 5;

interface Approval {
  session: Session;
  /** The client as the page showed it. */
  client: Client;
  /** What the request is for, as the page shows it: the scopes of resources by their ids, and the audience of the tokens. */
  resources: Granted['resources'];
  authorized: Pick<NewResponse, 'audience' | 'resources'>;
  /** The authorization details, as the page shows them. */
  details: readonly Detail[];
  codeHash: Buffer;
  scope: string[];
  binding: Binding;
  /** The grant type, in place of a redirect URI. */
  grantType: string;
  /** Of the user for the client. */
  subject: string | undefined;
  /** Seconds until the request expires. */
  lifetime: number;
  maxPerMinute: number;
  address: string | undefined;
}

/**
 * Stores the grant and the code, in the transaction of the decision. Session, user, client and consent are checked now, and again when the client redeems the code.
 * @throws NotIssued
 */
export async function issueDeferred(
  { grants, authorizationCodes }: Pick<Repositories, 'grants' | 'authorizationCodes'>,
  {
    session,
    client,
    resources,
    authorized,
    details,
    codeHash,
    scope,
    binding,
    grantType,
    subject,
    lifetime,
    maxPerMinute,
    address,
  }: Approval,
): Promise<void> {
  const { clientId } = client;
  const ofService = scope.filter(isServiceScopeOf(client));
  const added = { scope: ofService, claims: [], resources };
  await grants.add(session.user.sub, clientId, added, undefined);
  const issued = await authorizationCodes.issue({
    codeHash,
    accessTokenHash: undefined,
    sessionId: session.id,
    clientId,
    clientVersion: client.version,
    scope,
    claims: [],
    requested: undefined,
    offline: scope.includes('offline_access'),
    redirectUri: grantType,
    nonce: undefined,
    codeChallenge: undefined,
    codeBinding: binding,
    ...authorized,
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
}

/** Rolls the transaction of the decision back. */
export class NotIssued extends Error {
  readonly refusal: ResponseRefusal;
  constructor(refusal: ResponseRefusal) {
    super(refusal);
    this.refusal = refusal;
  }
}

/** The refusal of an approval, for the page. */
export async function refusalOfIssue(
  store: Pick<Store, 'authorizationCodes'>,
  session: Session,
  maxPerMinute: number,
  { refusal }: NotIssued,
): Promise<OAuthError> {
  if (refusal === 'ended') return conflict('the session, the client or the consent changed in the meantime');
  const wait = Math.max(1, await store.authorizationCodes.findWait(session.id, maxPerMinute));
  const description = `too many sign-ins to applications in this browser: wait ${wait} seconds`;
  return new OAuthError('temporarily_unavailable', description, 429, { headers: { 'retry-after': String(wait) } });
}
