// Decides whether a refresh token is exchanged for tokens: the readable form of use_refresh_token.sql, which the service runs; a property test holds
// the two equal.
import type { Detail } from './authorization-details.ts';
import { type Binding, satisfies } from './binding.ts';
import { type Audience, isFor } from './own-resource.ts';

export interface RefreshFacts {
  clientId: string;
  /** The key to which the refresh tokens of the client session are bound (RFC 9449 5). */
  tokenBinding: Binding;
  /** The session, the user, the client and the grant are still valid. */
  live: boolean;
  /** What was granted, and what the registration and the grant still allow (security R12). */
  scope: string[];
  registered: string[];
  consented: string[];
  /** The resource that the authorization is for, and its server; undefined is the client itself. One with several has more conditions. */
  audience: Audience | undefined;
  expired: boolean;
  /** How often it was used before, and the time since the first use; a token that is not rotated is never spent. */
  uses: number;
  secondsSinceFirstUse: number | undefined;
  /** The token belongs to a branch that was abandoned when the grace period ended (security R121). */
  isOfEndedLine: boolean;
}

export interface RefreshRequest {
  clientId: string;
  /** The key that the client proved to hold, to which the access token is then bound. */
  binding: Binding;
  /** A narrower scope; undefined keeps the whole. */
  scope: string[] | undefined;
  resource: string | undefined;
  /** The authorization details to which the access token is limited; absent for all of them. */
  details?: readonly Detail[] | undefined;
  /** Whether a new refresh token replaces it. */
  rotate: boolean;
  /** For how many seconds after its first use a spent token may be used again. */
  graceSeconds?: number | undefined;
}

export type RefreshFailure =
  | 'unknown'
  | 'client' // another client's token: it stays as it is
  | 'key' // another key than the one that the token is bound to, or none: it stays as it is
  | 'ended' // the session, the user, the client or the grant is no longer valid
  | 'expired'
  | 'scope' // the request asks for more than was granted
  | 'resource' // the authorization is not for it
  | 'details' // an authorization detail was not granted
  | 'unbound' // the resource takes only tokens that are bound to a key
  | 'proof' // the DPoP proof was used before
  | 'grace' // too many uses within the grace: only refused
  | 'reused'; // after the grace period, or of an abandoned branch: the client session is revoked (security R33, R121)

export type RefreshOutcome = { failure: RefreshFailure } | { scope: string[]; rotated: boolean };

/** For how many seconds after its first use, unless a setting says otherwise, and how many times a spent token may be used again (security R32). */
export const grace = { seconds: 10, uses: 5 };

/** Security R12, R31, R32, R33, R34. */
export function decideRefresh(token: RefreshFacts, request: RefreshRequest): RefreshOutcome {
  if (token.clientId !== request.clientId) return { failure: 'client' };
  if (!satisfies(request.binding, token.tokenBinding)) return { failure: 'key' };
  if (!token.live) return { failure: 'ended' };
  const granted = token.scope.filter((value) => token.registered.includes(value) && token.consented.includes(value));
  if (request.scope && !request.scope.every((value) => granted.includes(value))) return { failure: 'scope' };
  if (!isFor(token.audience, request.resource)) return { failure: 'resource' };
  const isSpent = token.uses > 0;
  const isExpired = token.expired && !isSpent;
  const uses = token.uses + (!isExpired && (request.rotate || isSpent) ? 1 : 0);
  const { graceSeconds = grace.seconds } = request;
  if (token.isOfEndedLine || (uses > 1 && (token.secondsSinceFirstUse ?? 0) > graceSeconds))
    return { failure: 'reused' };
  if (isExpired) return { failure: 'expired' };
  if (uses > grace.uses + 1) return { failure: 'grace' };
  return { scope: request.scope ?? granted, rotated: uses >= 1 };
}
