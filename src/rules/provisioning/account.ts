// Makes the account that an application gets for a user, and the operations that change it there (RFC 7643 4.1, RFC 7644 3.5.2).
import { isDeepStrictEqual } from 'node:util';

export type Values = Record<string, unknown>;

/** Attributes that an administrator chooses; userName, externalId and active are always sent. */
export const chosenAttributes = [
  'name',
  'displayName',
  'emails',
  'nickName',
  'profileUrl',
  'preferredLanguage',
  'locale',
  'timezone',
  'phoneNumbers',
] as const;
export type ChosenAttribute = (typeof chosenAttributes)[number];

/** What an account needs of a user. */
export interface AccountUser {
  username: string;
  /** A confirmed address. */
  address: string | undefined;
  claims: Values;
}

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Without absent values; undefined if none is left. */
function given(values: Values): Values | undefined {
  const all = Object.entries(values).filter(([, value]) => value !== undefined);
  return all.length === 0 ? undefined : Object.fromEntries(all);
}

const makers: Record<ChosenAttribute, (user: AccountUser) => unknown> = {
  name: ({ claims }) =>
    given({
      formatted: claims['name'],
      givenName: claims['given_name'],
      familyName: claims['family_name'],
      middleName: claims['middle_name'],
    }),
  displayName: ({ claims }) => claims['name'],
  emails: ({ address }) => (address === undefined ? undefined : [{ value: address, type: 'work', primary: true }]),
  nickName: ({ claims }) => claims['nickname'],
  profileUrl: ({ claims }) => claims['profile'],
  preferredLanguage: ({ claims }) => claims['locale'],
  locale: ({ claims }) => claims['locale'],
  timezone: ({ claims }) => claims['zoneinfo'],
  phoneNumbers: ({ claims }) =>
    claims['phone_number'] === undefined ? undefined : [{ value: claims['phone_number'], type: 'work', primary: true }],
};

/** @param externalId the subject of the user for the application */
export const accountOf = (user: AccountUser, externalId: string, attributes: readonly string[]): Values => ({
  userName: user.username,
  externalId,
  active: true,
  ...given(
    Object.fromEntries(
      chosenAttributes.filter((name) => attributes.includes(name)).map((name) => [name, makers[name](user)]),
    ),
  ),
});

/** Values by their paths: a complex value has a path for each part, since a replaced one keeps the parts that are not named. */
const byPath = (account: Values): Values =>
  Object.fromEntries(
    Object.entries(account).flatMap(([name, value]) =>
      isObject(value)
        ? Object.entries(value).map(([part, each]) => [`${name}.${part}`, each] as const)
        : [[name, value] as const],
    ),
  );

export interface PatchOperation {
  op: 'add' | 'replace' | 'remove';
  path: string;
  value?: unknown;
}

/** The operations that make of an account as it was written another one; none if both are equal. */
export function changesOf(written: Values, account: Values): PatchOperation[] {
  const [before, after] = [byPath(written), byPath(account)];
  return [...new Set([...Object.keys(after), ...Object.keys(before)])].flatMap((path): PatchOperation[] => {
    if (isDeepStrictEqual(before[path], after[path])) return [];
    return after[path] === undefined ? [{ op: 'remove', path }] : [{ op: 'replace', path, value: after[path] }];
  });
}

export const patchOf = (operations: readonly PatchOperation[]): Values => ({
  schemas: [patchSchema],
  Operations: operations,
});

/** What a target makes by itself, and what another request writes (RFC 7643 3.1, 4.1.2). */
const ofTarget = new Set(['meta', 'groups']);

/** The name that an object has for an attribute: names are compared without case (RFC 7643 2.1). */
const keyOf = (values: Values, name: string): string =>
  Object.keys(values).find((key) => key.toLowerCase() === name.toLowerCase()) ?? name;

/**
 * Whether an account as it was read has an address, among its addresses or as its name. Only the case of ASCII letters is no difference: other
 * letters that become equal in lower case can be those of another mailbox.
 */
export function hasAddress(resource: Values, address: string): boolean {
  const plain = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  const emails = resource[keyOf(resource, 'emails')];
  const listed = Array.isArray(emails) ? emails.map((one: unknown) => (isObject(one) ? one['value'] : one)) : [];
  return [...listed, resource[keyOf(resource, 'userName')]].some(
    (one) => typeof one === 'string' && plain(one) === plain(address),
  );
}

const membersIn = (resource: Values): Values[] => {
  const members = resource[keyOf(resource, 'members')];
  return Array.isArray(members) ? members.filter(isObject) : [];
};
const idOfMember = (member: Values): unknown => member[keyOf(member, 'value')];

/** Whether a resource as it was read says who its members are, be it that there are none. */
export const showsMembers = (resource: Values): boolean => Array.isArray(resource[keyOf(resource, 'members')]);

/**
 * A resource as it was read, with operations of changesOf() or of members: where a target takes whole resources only, all that it has beside our
 * values stays.
 * @param schema its schema, if it names none
 */
export function withChanges(resource: Values, operations: readonly PatchOperation[], schema: string): Values {
  const changed = Object.fromEntries(Object.entries(resource).filter(([name]) => !ofTarget.has(name.toLowerCase())));
  changed[keyOf(changed, 'schemas')] ??= [schema];
  for (const operation of operations) applyTo(changed, operation);
  return changed;
}

/** The members after an operation; undefined if it is not one of members. */
function membersAfter(members: readonly Values[], { path, value }: PatchOperation): Values[] | undefined {
  const removed = /^members\[value eq (".*")\]$/.exec(path)?.[1];
  if (removed !== undefined) {
    const id: unknown = JSON.parse(removed);
    return members.filter((member) => idOfMember(member) !== id);
  }
  if (path !== 'members') return undefined;
  const had = new Set(members.map(idOfMember));
  const added = Array.isArray(value) ? value.filter(isObject) : [];
  return [...members, ...added.filter((member) => !had.has(idOfMember(member)))];
}

function applyTo(changed: Values, operation: PatchOperation): void {
  const members = membersAfter(membersIn(changed), operation);
  if (members) {
    changed[keyOf(changed, 'members')] = members;
    return;
  }
  const { op, path, value } = operation;
  const [name = path, part] = path.split('.');
  const key = keyOf(changed, name);
  if (part !== undefined) {
    const whole = changed[key];
    if (op === 'remove' && !isObject(whole)) return;
    const parts = isObject(whole) ? { ...whole } : {};
    applyTo(parts, { op, path: part, value });
    changed[key] = parts;
  } else if (op === 'remove') Reflect.deleteProperty(changed, key);
  else changed[key] = value;
}

/** Whether the configuration of a service says that it has no PATCH (RFC 7643 5). */
export const lacksPatch = (configuration: Values): boolean =>
  isObject(configuration['patch']) && configuration['patch']['supported'] === false;

/** An id that can be a part of a path: a segment of dots would name another resource. */
const isId = (id: unknown): id is string =>
  typeof id === 'string' && id.length > 0 && id.length <= 1000 && !/^\.{1,2}$/.test(id) && !/\p{Cc}/u.test(id);

/** A resource of an answer with an id. */
export interface Found {
  id: string;
  externalId: string | undefined;
  values: Values;
}

export function foundIn(resource: unknown): Found | undefined {
  if (!isObject(resource) || !isId(resource['id'])) return undefined;
  const { externalId } = resource;
  return {
    id: resource['id'],
    externalId: typeof externalId === 'string' && externalId !== '' ? externalId : undefined,
    values: resource,
  };
}

/** The resources of a list that have exactly this value: a target may ignore the filter, and list others. */
export function matchesIn(list: unknown, attribute: string, value: string): Found[] {
  const all = isObject(list) && Array.isArray(list['Resources']) ? (list['Resources'] as unknown[]) : [];
  // userName is compared without case (RFC 7643 4.1.1)
  const plain = (one: unknown) => (typeof one === 'string' && attribute === 'userName' ? one.toLowerCase() : one);
  return all.flatMap((one) => {
    const found = foundIn(one);
    return found && plain(found.values[attribute]) === plain(value) ? [found] : [];
  });
}

/** The query of a list with one value of an attribute (RFC 7644 3.4.2.2): a quote or a backslash in it ends no text. */
export const filterOf = (attribute: string, value: string): string =>
  new URLSearchParams({ filter: `${attribute} eq ${JSON.stringify(value)}` }).toString();

/** The id at the end of the address that an answer named for a new resource. */
export function idInLocation(location: string | undefined, collection: string): string | undefined {
  if (location === undefined || !URL.canParse(location, collection)) return undefined;
  const { href } = new URL(location, collection);
  const end = href.startsWith(`${collection}/`) ? href.slice(collection.length + 1) : '';
  if (end === '' || /[/?#]/.test(end)) return undefined;
  try {
    const id = decodeURIComponent(end);
    return isId(id) ? id : undefined;
  } catch {
    return undefined;
  }
}

/** Seconds of a Retry-After (RFC 9110 10.2.3); undefined for none that can be read. @param now in milliseconds */
export function retryAfterOf(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d+$/.test(header.trim()) ? Number(header.trim()) : (Date.parse(header) - now) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 1), 86_400);
}
