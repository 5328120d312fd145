// Reads what the answer of a connection says of a user: address, claims, groups, level and time. Nothing of it is an address to call (federation FR13).
import { claimRules as claimShapes, email as emailShape, groupName } from '../users/administration.ts';
import { type Attribute, attributeFault, attributeOfText } from '../claims/attributes.ts';
import { nameKey } from './distinguished-name.ts';
import { domainOf, isOfDomains } from './mail-domain.ts';

/** A rule for a claim: `from` is a path of names in the answer. */
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

/** What a connection without rules of its own takes over. */
const usualClaims = ['name', 'given_name', 'family_name', 'middle_name', 'nickname', 'locale', 'zoneinfo'] as const;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value at a path of names, such as `realm_access.roles`; undefined where there is none. A name with dots is taken whole first. */
export function valueAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const name of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** The most levels of lists and objects: claims that are nested more deeply could not be stored until the user has done what they need. */
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
  /** The answer says that the account belongs to another domain than its address: authority over that domain does not count. */
  isForeign?: boolean;
  /** Whether the word confirms the address for applications, where the provider decides it and no setting of the connection (security R157). */
  isConfirmed?: boolean;
}

/** Joins an ID Token and UserInfo. What the ID Token says is signed, so it goes first; a false email_verified wins wherever it is (federation F12). */
export function joinedClaims(idToken: Claims, userInfo: Claims): Claims {
  const joined = { ...userInfo, ...idToken };
  const isOther =
    idToken['email'] !== undefined && userInfo['email'] !== undefined && idToken['email'] !== userInfo['email'];
  const said = [idToken['email_verified'], ...(isOther ? [] : [userInfo['email_verified']])].filter(
    (one) => one !== undefined,
  );
  return { ...joined, email_verified: said.length > 0 && said.every((one) => one === true) };
}

/** Only a well-formed address with one readable domain counts; a verified one says so as a boolean. */
export function addressOf(claims: Claims): AnsweredAddress | undefined {
  const read = emailShape.safeParse(claims['email']);
  if (!read.success || !read.data.isWellFormed() || domainOf(read.data) === undefined) return undefined;
  return { value: read.data, verified: claims['email_verified'] === true };
}

/** How far a connection vouches for an address (federation 4). */
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

/** Whether the target of a rule is an attribute, and no standard claim. */
export const isOfAttribute = ({ to }: { to: string }): boolean => !Object.hasOwn(claimShapes, to);

/**
 * The standard claims and the values of attributes that an answer gives a user. A value that breaks the rule of its claim or attribute is left
 * out (federation F15), and so is one of an attribute that is not among the definitions.
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
      // a directory says everything as text
      const value = definition && typeof said === 'string' ? attributeOfText(definition.type, said) : said;
      if (attributeFault(definition, value) === undefined) mapped[to] = value;
    } else {
      const read = claimShapes[to as keyof typeof claimShapes].safeParse(said);
      if (read.success) mapped[to] = read.data;
    }
  }
  return mapped;
}

/** The most values of groups that an answer may have. */
const maxValues = 5_000;

/**
 * The groups that an answer gives a user; undefined if it says nothing of groups, which is not the same as none (federation FR15).
 * @param value what the answer has at the path of the groups
 * @param entries the distinguished names of the same groups, which a directory says: one name can be that of several groups (security R163)
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
 * The methods of a sign-in by a connection: our own word, and `mfa` if the connection is trusted for it and its answer says so. Nothing from
 * outside is a passkey (federation FR11).
 */
export function methodsOf(connection: { trustMfa: boolean; mfaValues: readonly string[] }, claims: Claims): string[] {
  const { amr, acr } = claims;
  const hasTwo =
    (Array.isArray(amr) && amr.includes('mfa')) || (typeof acr === 'string' && connection.mfaValues.includes(acr));
  return connection.trustMfa && hasTwo ? ['fed', 'mfa'] : ['fed'];
}

/** Seconds by which clocks may differ. */
export const clockTolerance = 60;

/** When the user authenticated there; undefined if the answer does not say, so that it freshens nothing (federation FR10). */
export function authenticatedAt(claims: Claims, now: Date): Date | undefined {
  const seconds = claims['auth_time'];
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds <= 0) return undefined;
  const at = seconds * 1000;
  if (at > now.getTime() + clockTolerance * 1000) return undefined;
  return new Date(Math.min(at, now.getTime()));
}

/** Whether a name of a session, or of a token, can be stored and compared. */
export const isSessionName = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= 255 && value.isWellFormed() && !value.includes('\0');

/** Whether a subject can be one: 1 to 255 bytes, byte for byte what the other side says (federation FR1). */
export const isSubject = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length > 0 &&
  Buffer.byteLength(value) <= 255 &&
  value.isWellFormed() &&
  !value.includes('\0');
