// Lists the stored claims of a user, and which applications may see each.
import { legible } from '../../pages/claim-text.ts';
import type { Pages } from '../../pages/views/index.ts';
import type { Attribute } from '../../rules/claims/attributes.ts';
import { supportedClaims } from '../../oauth/claim-names.ts';
import { namedClaims } from '../../rules/claims/claims.ts';
import { claimsOfScopes } from '../../oauth/scope.ts';
import type { Grant } from '../../repositories/clients/grants.ts';
import type { User } from '../../repositories/users/users.ts';

/** The names of the applications whose grant covers a claim. */
export type SeenBy = (claim: string) => string[];

export function seenBy(grants: readonly Grant[]): SeenBy {
  const covered = grants.map(({ clientName, scope, claims }) => ({
    clientName,
    claims: new Set([...claimsOfScopes(scope), ...claims]),
  }));
  return (claim) => covered.filter(({ claims }) => claims.has(claim)).map(({ clientName }) => clientName);
}

/** Every claim that has a value, each with the applications whose grant covers it. @param owned the connections by the claims that they own */
export function profileView(
  user: User,
  grants: readonly Grant[],
  attributes: readonly Attribute[] = [],
  owned: Readonly<Record<string, string>> = {},
): Pages['account-profile']['profile'] {
  const see = seenBy(grants);
  const known = namedClaims(
    user,
    supportedClaims.filter((claim) => claim !== 'sub'),
  );
  const own = attributes.filter(({ person, name }) => person !== 'none' && user.claims[name] !== undefined);
  const by = (claim: string) => (owned[claim] === undefined ? {} : { by: owned[claim] });
  const shown = own.map(({ name, label }) => ({
    ...legible(name, user.claims[name]),
    label,
    seenBy: see(name),
    ...by(name),
  }));
  return [
    ...Object.entries(known).map(([claim, value]) => ({
      ...legible(claim, value),
      seenBy: see(claim),
      ...by(claim),
    })),
    ...shown,
  ].filter(({ value }) => value !== '');
}
