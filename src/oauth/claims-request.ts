// Parses the `claims` parameter, by which a client requests single claims beside those of its scopes (OpenID Connect Core 5.5).
import { supportedClaims } from './claim-names.ts';
import { invalidRequest } from './errors.ts';
import { hasUniqueNames } from './json-text.ts';
import { claimsOfScopes } from './scope.ts';

export interface ClaimsRequest {
  /** Names of supported claims. */
  userinfo: string[];
  idToken: string[];
  /** The `sub` values of which the End-User must have one (Core 5.5.1). */
  subjects: string[] | undefined;
  /** The requested acr values, in order of preference (Core 5.5.1.1). */
  acr: { values: string[]; essential: boolean } | undefined;
  /** Whether the ID Token has to have `auth_time` (Core 5.5.1). */
  needsAuthTime: boolean;
}

/** The requested claims that the client's registered scopes allow. */
export interface SingleClaims {
  /** Claims for UserInfo that the request's scopes do not release. */
  userinfo: string[];
  /** Claims for the ID Token. */
  idToken: string[];
  /** Claims of both lists that no scope of the request covers: the End-User has to consent to them. */
  beside: string[];
}

/** The part of a request that a client session keeps for its tokens. */
export interface RequestedClaims {
  /** The requested acr value that the sign-in reached. */
  acr?: string;
  userinfo?: string[];
  id_token?: string[];
}

const maxLength = 8192;
const maxDepth = 16;
const maxMembers = 256;

/**
 * Parses the parameter. Unsupported members are ignored (Core 5.5).
 * @throws OAuthError invalid_request
 */
export function parseClaimsRequest(text: string | undefined): ClaimsRequest {
  if (text === undefined)
    return { userinfo: [], idToken: [], subjects: undefined, acr: undefined, needsAuthTime: false };
  const request = parse(text);
  const userinfo = section(request, 'userinfo');
  const idToken = section(request, 'id_token');
  const wantedSubjects = [userinfo, idToken].flatMap((claims) => wanted(claims['sub']) ?? []);
  const acr = wanted(idToken['acr']);
  return {
    userinfo: names(userinfo),
    idToken: names(idToken),
    subjects: wantedSubjects.length > 0 ? wantedSubjects : undefined,
    acr: acr && { values: acr, essential: idToken['acr']?.['essential'] === true },
    needsAuthTime: idToken['auth_time']?.['essential'] === true,
  };
}

/** Keeps the claims that a registered scope of the client releases: an administrator approved only these. */
export function singleClaims(
  asked: ClaimsRequest,
  scope: readonly string[],
  registered: readonly string[],
  carried: { userinfo: boolean; idToken: boolean },
): SingleClaims {
  // the common case
  if (asked.userinfo.length + asked.idToken.length === 0) return { userinfo: [], idToken: [], beside: [] };
  const known = claimsOfScopes(registered);
  const covered = claimsOfScopes(scope);
  const allowed = (claims: string[]) => claims.filter((claim) => known.includes(claim));
  const uncovered = (claims: string[]) => claims.filter((claim) => !covered.includes(claim));
  const userinfo = carried.userinfo ? uncovered(allowed(asked.userinfo)) : [];
  const idToken = carried.idToken ? allowed(asked.idToken) : [];
  return { userinfo, idToken, beside: [...new Set([...userinfo, ...uncovered(idToken)])] };
}

/** @param acr the requested acr value that the sign-in reached @returns undefined when the client requested nothing */
export function requestedClaims(claims: SingleClaims, acr: string | undefined): RequestedClaims | undefined {
  const requested: RequestedClaims = {
    ...(acr !== undefined && { acr }),
    ...(claims.userinfo.length > 0 && { userinfo: claims.userinfo }),
    ...(claims.idToken.length > 0 && { id_token: claims.idToken }),
  };
  return Object.keys(requested).length > 0 ? requested : undefined;
}

type Section = Record<string, Record<string, unknown> | null>;

function parse(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = text.length <= maxLength ? JSON.parse(text) : undefined;
  } catch {
    value = undefined;
  }
  if (!isObject(value)) throw invalidRequest(`claims must be a JSON object of at most ${maxLength} characters`);
  checkBounds(value, 1);
  if (!hasUniqueNames(text, value)) throw invalidRequest('claims contains an object with a repeated member');
  return value;
}

function section(request: Record<string, unknown>, name: string): Section {
  const value = request[name];
  if (value === undefined || value === null) return {};
  if (!isObject(value) || !Object.values(value).every((member) => member === null || isObject(member)))
    throw invalidRequest(`${name} in claims must be an object of claims, each null or an object`);
  return value as Section;
}

/** The requested values of a claim; undefined when any value will do. @throws OAuthError invalid_request */
function wanted(claim: Record<string, unknown> | null | undefined): string[] | undefined {
  if (claim?.['value'] === undefined && claim?.['values'] === undefined) return undefined;
  const values = [claim['value'] ?? claim['values']].flat();
  if (!values.every((value) => typeof value === 'string'))
    throw invalidRequest('value and values of sub and acr in claims must be text');
  return values;
}

/** The names of supported claims; `email` brings `email_verified` (decisions section 5). */
function names(claims: Section): string[] {
  const known = Object.keys(claims).filter((name) => name !== 'sub' && supportedClaims.includes(name));
  return known.includes('email') ? [...new Set([...known, 'email_verified'])] : known;
}

function checkBounds(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  const members = Object.values(value);
  if (depth > maxDepth || members.length > maxMembers)
    throw invalidRequest(`claims may have ${maxDepth} levels, and ${maxMembers} members in one place`);
  for (const member of members) checkBounds(member, depth + 1);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
