// Decides whether an authorization code is redeemed: the readable form of redeem_code.sql, which the service runs; a property test holds the two equal.
import type { Detail } from './authorization-details.ts';
import { type Binding, satisfies } from './binding.ts';
import { type Audience, isFor } from './own-resource.ts';

export interface CodeFacts {
  clientId: string;
  redirectUri: string;
  codeChallenge: string | undefined;
  /** The key by which it must be redeemed (RFC 9449 10). */
  codeBinding: Binding;
  /** The resource that the authorization is for, and its server; undefined is the client itself. One with several has more conditions. */
  audience: Audience | undefined;
  /** The session, the user, the client and the grant are still valid. */
  live: boolean;
  expired: boolean;
  /** Since the first redemption; undefined before it. */
  secondsSinceRedemption: number | undefined;
  /** How many earlier requests did not prove that the code was issued to their sender. */
  failures: number;
}

export interface RedemptionRequest {
  clientId: string;
  redirectUri: string | undefined;
  /** The challenge that belongs to the presented verifier. */
  codeChallenge: string | undefined;
  /** The key that the client proved to hold, to which the access token is then bound. */
  binding: Binding;
  /** A resource that the tokens must be for. */
  resource: string | undefined;
  /** The authorization details to which the tokens are limited; absent for all of them. */
  details?: readonly Detail[] | undefined;
  /** A client that lost the response repeats its request within this time. */
  retrySeconds: number;
}

/** Why a code was not redeemed. */
export type RedemptionFailure =
  | 'unknown'
  | 'expired'
  | 'ended' // the session, the user, the client or the grant is no longer valid
  | 'client'
  | 'redirect_uri'
  | 'pkce_missing'
  | 'pkce_unexpected'
  | 'pkce'
  | 'key' // another key than the one that the code is bound to, or none
  | 'resource' // the authorization is not for it: the code stays as it is
  | 'details' // an authorization detail was not granted: the code stays as it is
  | 'unbound' // the resource takes only tokens that are bound to a key
  | 'proof' // the DPoP proof was used before: the code stays as it is
  | 'replayed' // everything that was issued from the code is revoked
  | 'retried'; // within seconds, by the same client: the request is only refused

/**
 * Undefined where tokens are issued. `burned`: the code is invalid after too many failures. `ends`: the client session is deleted with everything that
 * was issued in it.
 */
export type RedemptionRefusal = { failure: RedemptionFailure; burned: boolean; ends: boolean } | undefined;

const maxFailures = 5;
const provesNothing = new Set<RedemptionFailure>([
  'client',
  'redirect_uri',
  'pkce_missing',
  'pkce_unexpected',
  'pkce',
  'key',
]);

/** Security R14, R15, R16, R17, R22. */
export function decideRedemption(code: CodeFacts, request: RedemptionRequest): RedemptionRefusal {
  const mismatch = mismatchOf(code, request);
  const isRedeemed = code.secondsSinceRedemption !== undefined;
  if (!isRedeemed && mismatch === undefined) return undefined;
  const counts = !isRedeemed && provesNothing.has(mismatch!);
  const burned = code.failures + (counts ? 1 : 0) >= maxFailures;
  const isReplayed =
    isRedeemed && (code.clientId !== request.clientId || code.secondsSinceRedemption! > request.retrySeconds);
  return { failure: isReplayed ? 'replayed' : (mismatch ?? 'retried'), burned, ends: isReplayed || burned };
}

/** The first reason, in this order, for which the request is not the one that the code was issued for. */
function mismatchOf(code: CodeFacts, request: RedemptionRequest): RedemptionFailure | undefined {
  if (!code.live) return 'ended';
  if (code.expired) return 'expired';
  if (code.clientId !== request.clientId) return 'client';
  if (code.redirectUri !== request.redirectUri) return 'redirect_uri';
  if (code.codeChallenge !== undefined && request.codeChallenge === undefined) return 'pkce_missing';
  if (code.codeChallenge === undefined && request.codeChallenge !== undefined) return 'pkce_unexpected';
  if (code.codeChallenge !== request.codeChallenge) return 'pkce';
  if (!satisfies(request.binding, code.codeBinding)) return 'key';
  if (!isFor(code.audience, request.resource)) return 'resource';
  return undefined;
}
