// Builds the End-User's claims that a set of scopes or names releases, without empty values (OpenID Connect Core 5.1).
import { claimsOfScopes, type OwnScopes, scopeClaims } from './scope.ts';

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
  /** The roles at the client that gets the claims; undefined if they were not asked for. */
  roles?: readonly string[] | undefined;
}

/** The claims that an administrator may store for a user. A new one also takes a scope, a rule and a field: see CONTRIBUTING.md. */
export const storableClaims = [
  'name',
  'family_name',
  'given_name',
  'middle_name',
  'nickname',
  'preferred_username',
  'profile',
  'picture',
  'website',
  'gender',
  'birthdate',
  'zoneinfo',
  'locale',
  'address',
  'phone_number',
  'phone_number_verified',
] as const;

/** The claims that a scope releases. */
export const releasableClaims = [...new Set(Object.values(scopeClaims).flat())];

/** Discovery's claims_supported. */
export const supportedClaims: readonly string[] = ['sub', ...releasableClaims];

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
