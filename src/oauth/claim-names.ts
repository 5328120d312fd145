// Lists the claims by name: those that are stored, those that scopes release, and those of discovery.
import { scopeClaims } from './scope.ts';

/** The claims that an administrator may store for a user. A new one also takes a scope, a rule and a field: see src/oauth/README.md. */
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
