// Reads the answer of a connection about a user: address, claims, groups, methods and time. The service sends no request to an address in it (federation FR13).
import { claimRules as claimShapes, email as emailShape, groupName } from '../users/administration.ts';
import { type Attribute, attributeFault, attributeOfText } from '../claims/attributes.ts';
import { nameKey } from './distinguished-name.ts';
import { domainOf, isOfDomains } from './mail-domain.ts';

/** A rule for a claim. `from` is a path of names in the answer. */
interface ClaimRule {
  to: string;
  from: string;
  default?: string | undefined;
}
type GroupRule =
  | { equals: string; group: string }
  | { dn: string; group: string }
  | { starts_with: string; group: string }
  | { all: true; prefix: string };

export type Claims = Readonly<Record<string, unknown>>;

/** The claims that a connection without claim rules stores. */
const usualClaims = ['name', 'given_name', 'family_name', 'middle_name', 'nickname', 'locale', 'zoneinfo'] as const;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value at a path of names, such as `realm_access.roles`; undefined if there is none. A member whose name is the whole path comes first. */
export function valueAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const name of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** The most levels of lists and objects. The service could not store deeper claims in a step that waits for the user. */
const maxDepth = 32;

export function isTooDeep(claims: Claims): boolean {
  let level: unknown[] = [claims];
  for (let depth = 0; depth <= maxDepth && level.length > 0; depth++)
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
  return level.length > 0;
}

/** The address of an answer, and whether the answer says that it is verified. */
export interface AnsweredAddress {
  value: string;
  verified: boolean;
  /** Whether the account belongs to another domain than its address. Then authority over the domain of the address does not count. */
  isForeign?: boolean;
  /** Whether the provider's statement confirms the address for applications; undefined if a setting of the connection decides it (security R157). */
  isConfirmed?: boolean;
}

/** Joins an ID Token and UserInfo. The signed claims of the ID Token take precedence; a false email_verified in either one counts (federation F12). */
export function joinedClaims(idToken: Claims, userInfo: Claims): Claims {
  const joined = { ...userInfo, ...idToken };
  const isOther =
    idToken['email'] !== undefined && userInfo['email'] !== undefined && idToken['email'] !== userInfo['email'];
  const said = [idToken['email_verified'], ...(isOther ? [] : [userInfo['email_verified']])].filter(
    (one) => one !== undefined,
  );
  return { ...joined, email_verified: said.length > 0 && said.every((one) => one === true) };
}

/** Reads the address of an answer, if it is well-formed and has one readable domain. Only the boolean `true` marks it as verified. */
export function addressOf(claims: Claims): AnsweredAddress | undefined {
  const read = emailShape.safeParse(claims['email']);
  if (!read.success || !read.data.isWellFormed() || domainOf(read.data) === undefined) return undefined;
  return { value: read.data, verified: claims['email_verified'] === true };
}

/** Whether a connection vouches for an address: by authority over its domain, by its word that the address is verified, or not (federation 4). */
export function vouching(
  connection: { authoritativeDomains: readonly string[]; subdomains: boolean; wordCounts: boolean },
  address: AnsweredAddress | undefined,
): 'authority' | 'word' | 'no' {
  const domain = address && domainOf(address.value);
  if (domain === undefined) return 'no';
  if (!address!.isForeign && isOfDomains(domain, connection.authoritativeDomains, connection.subdomains))
    return 'authority';
  return connection.wordCounts && address!.verified ? 'word' : 'no';
}

/** Whether a rule sets an attribute, and not a standard claim. */
export const isOfAttribute = ({ to }: { to: string }): boolean => !Object.hasOwn(claimShapes, to);

/**
 * The standard claims and the values of attributes that a user gets from an answer. A value that breaks the rule of its claim or attribute is
 * left out (federation F15), and so is a value of an attribute without a definition.
 */
export function mappedClaims(
  rules: readonly ClaimRule[],
  claims: Claims,
  definitions: readonly Attribute[] = [],
): Record<string, unknown> {
  const used = rules.length > 0 ? rules : usualClaims.map((name): ClaimRule => ({ to: name, from: name }));
  const mapped: Record<string, unknown> = {};
  for (const rule of used) {
    const { to, from, default: otherwise } = rule;
    const said = valueAt(claims, from) ?? otherwise;
    if (said === undefined) continue;
    if (isOfAttribute(rule)) {
      const definition = definitions.find(({ name }) => name === to);
      // a directory returns every value as text
      const value = definition && typeof said === 'string' ? attributeOfText(definition.type, said) : said;
      if (attributeFault(definition, value) === undefined) mapped[to] = value;
    } else {
      const read = claimShapes[to as keyof typeof claimShapes].safeParse(said);
      if (read.success) mapped[to] = read.data;
    }
  }
  return mapped;
}

/** The most groups that an answer may have. */
const maxValues = 5_000;

/**
 * The groups that a user gets from an answer. Undefined if the answer has no groups claim, which is not the same as an empty one (federation FR15).
 * @param said the value of the answer at the path of the groups
 * @param entries the distinguished names of the same groups, from a directory: several groups can have one name (security R163)
 */
export function mappedGroups(rules: readonly GroupRule[], said: unknown, entries?: unknown): string[] | undefined {
  // some providers send a single group as a text
  const value: unknown = typeof said === 'string' && said !== '' ? [said] : said;
  if (!Array.isArray(value) || value.length > maxValues || !value.every((one) => typeof one === 'string'))
    return undefined;
  const named = new Set((Array.isArray(entries) ? entries : []).map((name) => nameKey(String(name))));
  const given = rules.flatMap((rule) => {
    if ('dn' in rule) return named.has(nameKey(rule.dn)) ? [rule.group] : [];
    if ('all' in rule) return (value as string[]).map((one) => `${rule.prefix}${one}`);
    const fits = (one: string) => ('equals' in rule ? one === rule.equals : one.startsWith(rule.starts_with));
    return (value as string[]).some(fits) ? [rule.group] : [];
  });
  const groups = new Set<string>();
  for (const name of given) {
    const read = groupName.safeParse(name);
    if (read.success) groups.add(read.data);
  }
  return [...groups].sort();
}

/**
 * The authentication methods of a sign-in by a connection: always `fed`, and `mfa` if the connection is trusted for it and its answer states two
 * factors. No answer counts as a passkey (federation FR11).
 */
export function methodsOf(connection: { trustMfa: boolean; mfaValues: readonly string[] }, claims: Claims): string[] {
  const { amr, acr } = claims;
  const hasTwo =
    (Array.isArray(amr) && amr.includes('mfa')) || (typeof acr === 'string' && connection.mfaValues.includes(acr));
  return connection.trustMfa && hasTwo ? ['fed', 'mfa'] : ['fed'];
}

/** Seconds by which the clocks of the service and a provider may differ. */
export const clockTolerance = 60;

/** When the user authenticated at the provider; undefined if the answer does not say: then the sign-in is not fresh (federation FR10). */
export function authenticatedAt(claims: Claims, now: Date): Date | undefined {
  const seconds = claims['auth_time'];
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds <= 0) return undefined;
  const at = seconds * 1000;
  if (at > now.getTime() + clockTolerance * 1000) return undefined;
  return new Date(Math.min(at, now.getTime()));
}

/**
 * The most seconds of a session by a connection: what the connection says, and no more than is left of the session at the provider
 * (SAML Core 2.7.2). It is never shorter than the difference that two clocks may have.
 * @param endsAt in seconds since 1970
 */
export function sessionLifetimeOf(own: number | undefined, endsAt: number | undefined, now: Date): number | undefined {
  if (endsAt === undefined) return own;
  const left = Math.max(endsAt - Math.floor(now.getTime() / 1000), clockTolerance);
  return Math.min(left, own ?? left);
}

/** Whether the service can store and compare the id of a session or a token. */
export const isSessionName = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= 255 && value.isWellFormed() && !value.includes('\0');

/** Whether a value can be a subject: 1 to 255 bytes, which the service keeps byte for byte (federation FR1). */
export const isSubject = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length > 0 &&
  Buffer.byteLength(value) <= 255 &&
  value.isWellFormed() &&
  !value.includes('\0');
