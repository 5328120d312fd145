// Decides what a client gets in exchange for a token of a user: by which policy, with which scopes, and with which actors (RFC 8693, security R145).
import { type ActingParty, withActor } from '../../oauth/token-exchange.ts';
import { resourceKey } from '../../oauth/resource-key.ts';
import { isAdministratorScope } from '../../oauth/scope.ts';

/** A policy that an administrator wrote for the client, as far as it decides. */
export interface Policy {
  subjectClients: readonly string[];
  resources: readonly string[];
  scopes: readonly string[];
  mode: 'delegate' | 'impersonate';
}

/** The token that the client presents. */
export interface SubjectToken {
  kind: 'access_token' | 'id_token';
  /** The client to which it was issued. */
  clientId: string;
  /** Who may read it: an API and its client, or the client to which it was issued. */
  audience: readonly string[];
  scope: readonly string[];
  act: ActingParty | undefined;
}

export interface ExchangeRequest {
  clientId: string;
  subject: SubjectToken;
  /** The scope that the request names; undefined for as much as there is. */
  scope: readonly string[] | undefined;
  /** The subject of the actor token; undefined without one: then the client itself acts. */
  actor?: string | undefined;
}

export type ExchangeRefusal =
  | 'no_policy' // the client may not exchange anything
  | 'subject' // no policy takes tokens of this client
  | 'audience' // the token was neither issued to the client nor for it
  | 'target' // no policy for this resource
  | 'scope' // more than the subject token, the policy and the resource have together
  | 'unnamed' // the policy impersonates, and names no actor
  | 'actors'; // the chain is too long

/** Whether a policy takes the tokens of a client. Its own tokens a client may always present. */
const takes = ({ subjectClients }: Policy, { clientId, subject }: ExchangeRequest): boolean =>
  subject.clientId === clientId || subjectClients.includes(subject.clientId);

/** An ID Token has the client as its audience to which it was issued: there the policy alone decides. */
const isAddressed = ({ clientId, subject }: ExchangeRequest): boolean =>
  subject.kind === 'id_token' || subject.clientId === clientId || subject.audience.includes(clientId);

/** The policies by which the client may present the token. */
export function policiesFor<P extends Policy>(
  policies: readonly P[],
  request: ExchangeRequest,
): P[] | Extract<ExchangeRefusal, 'no_policy' | 'subject' | 'audience'> {
  if (policies.length === 0) return 'no_policy';
  const taking = policies.filter((policy) => takes(policy, request));
  if (taking.length === 0) return 'subject';
  return isAddressed(request) ? taking : 'audience';
}

/** The first policy for the resource; the names of policies have an order. */
export const policyAt = <P extends Pick<Policy, 'resources'>>(
  policies: readonly P[],
  resource: string,
): P | undefined =>
  policies.find(({ resources }) => resources.some((uri) => resourceKey(uri) === resourceKey(resource)));

/**
 * The scope of the new token: what the subject token, the policy and the resource have, and never a scope for administrators.
 * @param offered the scopes of the resource
 */
export function exchangedScope(
  { subject, scope }: ExchangeRequest,
  policy: Policy,
  offered: readonly string[],
): string[] | Extract<ExchangeRefusal, 'scope'> {
  const allowed = subject.scope.filter(
    (value) => policy.scopes.includes(value) && offered.includes(value) && !isAdministratorScope(value),
  );
  if (scope?.some((value) => !allowed.includes(value))) return 'scope';
  const granted = scope ?? allowed;
  return granted.length === 0 ? 'scope' : [...new Set(granted)];
}

/** The actors of the new token. Impersonation adds none, and removes none that the subject token has. */
export function exchangedActors(
  { clientId, subject, actor }: ExchangeRequest,
  { mode }: Policy,
): { act: ActingParty | undefined } | Extract<ExchangeRefusal, 'actors' | 'unnamed'> {
  // what the new token would not say is not left out
  if (mode === 'impersonate') return actor === undefined ? { act: subject.act } : 'unnamed';
  const act = withActor({ sub: actor ?? clientId, client_id: clientId }, subject.act);
  return act ? { act } : 'actors';
}
