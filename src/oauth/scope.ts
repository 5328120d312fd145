// Lists the scope values and the claims that each releases (specification 2.4, OpenID Connect Core 5.4).

/** The scopes that clients register, with the claims that each releases: one line each, and its words (`scope.…` in templates/messages). */
export const scopeClaims: Record<string, readonly string[]> = {
  openid: [],
  profile: [
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
    'updated_at',
  ],
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified'],
  scope: ['preferred_username', 'groups'],
  groups: ['groups'],
  roles: ['roles'],
  offline_access: [],
  // stored tokens of connections (federation 4)
  upstream_token: [],
};

/** Scopes that an operator defined and gave to a client: what they release, and what users read, by language. */
export type OwnScopes = Readonly<Record<string, { claims: readonly string[]; text: Record<string, string> }>>;

/** Returns the names of the claims that these scopes release. @param own the client's scopes that an operator defined */
export function claimsOfScopes(scopes: readonly string[], own: OwnScopes = {}): string[] {
  const claims: string[] = [];
  for (const scope of scopes) {
    if (Object.hasOwn(scopeClaims, scope)) claims.push(...scopeClaims[scope]!);
    else if (Object.hasOwn(own, scope)) claims.push(...own[scope]!.claims);
  }
  return claims;
}

/** The scope by which a client ends everything that a user has (draft-ietf-oauth-global-token-revocation). */
export const globalRevocationScope = 'revoke.global';
/** Scopes that only an administrator can grant: access to the admin routes, to the metrics, to the SCIM source of the client, and to global revocation. */
export const administratorScopes = ['admin', 'metrics', 'scim', globalRevocationScope] as const;
export type AdministratorScope = (typeof administratorScopes)[number];

/** The scopes that a client may register. */
export const registrableScopes = (): string[] => Object.keys(scopeClaims);
export const isRegistrableScope = (scope: string): boolean => Object.hasOwn(scopeClaims, scope);

/** Whether it is a scope that the service has by itself. */
export const isServiceScope = (scope: string): boolean => isRegistrableScope(scope) || isAdministratorScope(scope);

/** Whether it is a scope of this service for a client. All others belong to resources (RFC 8707). */
export const isServiceScopeOf =
  ({ ownScopes }: { ownScopes: OwnScopes }) =>
  (scope: string): boolean =>
    isServiceScope(scope) || Object.hasOwn(ownScopes, scope);

/** The scopes of OpenID Connect (Core 3.1.2.1, 5.4, 11); a client has to name the others. */
export const standardScopes = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'];

/** Splits a scope parameter into its values, in order and without duplicates (RFC 6749 3.3). */
export function splitScope(scope: string): string[] {
  const values: string[] = [];
  for (const value of scope.split(' ')) if (value !== '' && !values.includes(value)) values.push(value);
  return values;
}

/** Whether it has only the characters that RFC 6749 A.4 allows in a scope parameter. */
export function isScope(scope: string): boolean {
  return /^[!#-[\]-~]+( +[!#-[\]-~]+)*$/.test(scope);
}

export function isAdministratorScope(scope: string): boolean {
  return administratorScopes.some((given) => given === scope);
}

/** Returns the scopes that a token for the resource of another server may have (security R115). */
export function withoutAdministration(scopes: readonly string[]): string[] {
  return scopes.filter((scope) => !isAdministratorScope(scope));
}
