// Decides which claims of a user a client gets in the ID Token, from UserInfo and by introspection, from scopes, single claims and claim rules.
import { type ClaimPlace, type ClaimRule, ruledClaims } from './claim-rules.ts';
import { claimsOfScopes, type OwnScopes, splitScope } from '../../oauth/scope.ts';

/** The data of a user from which claims are built. */
export interface Subject {
  sub: string;
  username: string;
  email: string | undefined;
  emailVerified: boolean;
  groups: string[];
  /** Stored standard claims by name. */
  claims: Record<string, unknown>;
  updatedAt: Date;
  /** The user's roles at the client that gets the claims; undefined if nothing needs them. */
  roles?: readonly string[] | undefined;
}

/** Returns the claims that `scopes` release, without `sub`. A claim without a value is left out; `email` brings `email_verified`. */
export function releasedClaims(user: Subject, scopes: readonly string[], own?: OwnScopes): Record<string, unknown> {
  return namedClaims(user, claimsOfScopes(scopes, own));
}

/** Returns the claims of these names, without those that have no value. */
export function namedClaims(user: Subject, names: readonly string[]): Record<string, unknown> {
  const released: Record<string, unknown> = {};
  for (const claim of names) {
    const value = claimValue(user, claim);
    if (value !== undefined) released[claim] = value;
  }
  return released;
}

function claimValue(user: Subject, claim: string): unknown {
  switch (claim) {
    case 'preferred_username':
      return present(user.claims[claim]) ?? user.username;
    case 'email':
      return present(user.email);
    case 'email_verified':
      return user.email === undefined ? undefined : user.emailVerified;
    case 'phone_number_verified':
      return present(user.claims['phone_number']) === undefined ? undefined : user.claims[claim] === true;
    case 'groups':
      return user.groups;
    case 'roles':
      return user.roles && user.roles.length > 0 ? user.roles : undefined;
    case 'updated_at':
      return Math.floor(user.updatedAt.getTime() / 1000);
    case 'address':
      return address(user.claims[claim]);
    default:
      return Object.hasOwn(user.claims, claim) ? present(user.claims[claim]) : undefined;
  }
}

function present(value: unknown): unknown {
  return value === null || value === '' ? undefined : value;
}

const addressMembers = ['formatted', 'street_address', 'locality', 'region', 'postal_code', 'country'] as const;

/** Returns the address claim with its standard members; builds `formatted` when it is not stored (Core 5.1.1). */
export function address(value: unknown): Record<string, string> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const known: Record<string, string> = {};
  for (const member of addressMembers) {
    const part = (value as Record<string, unknown>)[member];
    if (typeof part === 'string' && part !== '') known[member] = part;
  }
  if (Object.keys(known).length === 0) return undefined;
  if (known['formatted'] === undefined) {
    const town = [known['postal_code'], known['locality']].filter(Boolean).join(' ');
    known['formatted'] = [known['street_address'], town, known['region'], known['country']].filter(Boolean).join('\n');
  }
  return known;
}

/** The scopes and claim rules that administrators set for a client beyond its registered scope. */
export interface ClaimsClient {
  ownScopes: OwnScopes;
  claimRules: readonly ClaimRule[];
}

/** A client without scopes of an operator and without claim rules. */
export const plainClient: ClaimsClient = { ownScopes: {}, claimRules: [] };

/** The most bytes of the claims in an ID Token with groups. Clients keep ID Tokens in cookies and addresses, so a larger one leaves the groups to UserInfo. */
export const maxIdTokenClaims = 6144;

/** Whether the claims of the client depend on the roles of the user at the client. */
export const needsRoles = ({ claimRules }: ClaimsClient, scopes: readonly string[]): boolean =>
  scopes.includes('roles') || claimRules.some(({ from }) => from === 'roles');

const without = (claims: Record<string, unknown>, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(claims).filter(([claim]) => !names.includes(claim)));

/** Adds the claims of the rules. If a rule changes an address or a number, the claim that says it is verified no longer applies. */
function withRuled(
  claims: Record<string, unknown>,
  user: Subject,
  rules: readonly ClaimRule[],
  place: ClaimPlace,
): Record<string, unknown> {
  if (rules.length === 0) return claims;
  const made = ruledClaims(rules, (from) => namedClaims(user, [from])[from], place);
  const stale = ['email', 'phone_number']
    .filter((claim) => Object.hasOwn(made, claim) && made[claim] !== claims[claim])
    .map((claim) => `${claim}_verified`);
  return without({ ...claims, ...made }, stale);
}

/** The parts of a grant that decide its claims. */
interface Granted {
  user: Subject;
  scopes: readonly string[];
  /** Single claims that the request named (Core 5.5). */
  requested: readonly string[] | undefined;
  /** The registered scope of the client. It is only read if there are single claims. */
  registered: string | undefined;
}

/** The requested single claims for which the client is still registered. */
function single({ user, requested = [], registered = '' }: Granted): Record<string, unknown> {
  if (requested.length === 0) return {};
  const known = claimsOfScopes(splitScope(registered));
  return namedClaims(
    user,
    requested.filter((claim) => known.includes(claim)),
  );
}

/** The claims of UserInfo, without `sub`. */
export function userinfoClaims(client: ClaimsClient, granted: Granted): Record<string, unknown> {
  const { user, scopes } = granted;
  const released = { ...releasedClaims(user, scopes, client.ownScopes), ...single(granted) };
  return withRuled(released, user, client.claimRules, 'userinfo');
}

/**
 * The claims of an ID Token beside those of the sign-in. If the client also gets an access token, UserInfo has the claims of the scopes. The ID
 * Token then has only the claims of the scopes `scope` (decisions section 5) and `roles`, and those that the request named.
 * @param all whether the ID Token has the claims of every scope
 */
export function idTokenClaims(
  client: ClaimsClient,
  granted: Granted,
  all: boolean,
): { claims: Record<string, unknown>; groupsOmitted: boolean } {
  const { user, scopes } = granted;
  const carried = all ? scopes : scopes.filter((scope) => scope === 'scope' || scope === 'roles');
  const released = { ...releasedClaims(user, carried, client.ownScopes), ...single(granted) };
  const claims = withRuled(released, user, client.claimRules, 'id_token');
  if (!('groups' in claims) || Buffer.byteLength(JSON.stringify(claims)) <= maxIdTokenClaims)
    return { claims, groupsOmitted: false };
  return { claims: without(claims, ['groups']), groupsOmitted: true };
}

/**
 * The claims of an introspection.
 * @param isOwn whether the client of the token sends the request: only that client learns the user's roles at it (federation F63)
 */
export function introspectionClaims(
  client: ClaimsClient,
  { user, scopes }: Pick<Granted, 'user' | 'scopes'>,
  isOwn: boolean,
): { released: Record<string, unknown>; made: Record<string, unknown> } {
  const known = isOwn ? user : { ...user, roles: undefined };
  const rules = isOwn ? client.claimRules : client.claimRules.filter(({ from }) => from !== 'roles');
  const released = releasedClaims(known, scopes, client.ownScopes);
  const made =
    rules.length === 0 ? {} : ruledClaims(rules, (from) => namedClaims(known, [from])[from], 'introspection');
  const roles = released['roles'] === undefined ? {} : { roles: released['roles'] };
  return { released: withRuled(released, known, rules, 'introspection'), made: { ...roles, ...made } };
}
