// Reads the groups of a directory's users: the groups of one user at a sign-in, or all groups for an import (federation 6).
import { isWithin, keyOfName, nameKey, ownValue, readName } from '../../../rules/connections/distinguished-name.ts';
import type { DirectoryConnection, DirectoryEntry, DirectoryFilter } from '../../../outbound/directory-address.ts';
import { type LdapSettings } from './settings.ts';
import { type DirectoryGroups, isByUid, isOfUser } from './entries.ts';
import { isItself, primaryGroup, rememberedPrimaryGroup } from './primary-group.ts';

/** The matching rule with which Active Directory itself follows nested groups. */
const inChain = '1.2.840.113556.1.4.1941';
/** The most groups of a user, and the most of a directory. */
const maxOfUser = 5_000;
const maxGroups = 100_000;
/** The most levels of nested groups that the service follows. */
const maxDepth = 50;

interface Group {
  key: string;
  name: string;
  dn: string;
}

/**
 * The group of an entry; undefined if the entry is outside the base, or if a name cannot be read. An unreadable base never admits all groups
 * (keycloak#41842).
 */
function groupOf(settings: LdapSettings, dn: string): Group | undefined {
  const base = readName(settings.group_base ?? '');
  const name = readName(dn);
  return name && base && isWithin(name, base) ? { key: keyOfName(name), name: ownValue(name), dn } : undefined;
}

const isActiveDirectory = ({ id_attribute: id }: LdapSettings) => id === 'objectGUID';

/** The value by which a group's member attribute names an entry. */
function calledIn({ member_attribute: member, login_attributes: logins }: LdapSettings, entry: DirectoryEntry): string {
  // posixGroup names its members by their uid (RFC 2307)
  return isByUid(member) ? (entry.attributes.get(logins[0]!.toLowerCase())?.[0] ?? '') : entry.dn;
}

/**
 * Reads a user's groups. Undefined if they are unknown: no base is set, a search failed, or the service account sees no group at all.
 * A user without groups has an empty list, which is another outcome (federation FR15).
 */
export async function groupsOf(
  directory: DirectoryConnection,
  settings: LdapSettings,
  entry: DirectoryEntry,
  warn: (error: unknown) => void,
): Promise<DirectoryGroups | undefined> {
  if (settings.group_base === undefined) return undefined;
  try {
    return await readGroups(directory, settings, entry);
  } catch (error) {
    if ((error as { failure?: unknown }).failure === undefined) throw error;
    warn(error);
    return undefined;
  }
}

async function readGroups(
  directory: DirectoryConnection,
  settings: LdapSettings,
  entry: DirectoryEntry,
): Promise<DirectoryGroups | undefined> {
  const { member_attribute: member, nested } = settings;
  const found = new Map<string, Group>();
  const search = (filter: DirectoryFilter) =>
    directory.search({
      base: settings.group_base!,
      attributes: ['cn'],
      limit: maxOfUser,
      filter: { all: [{ text: settings.group_filter }, filter] },
    });
  const add = (entries: readonly DirectoryEntry[]): DirectoryEntry[] =>
    entries.filter(({ dn }) => {
      const group = groupOf(settings, dn);
      if (!group || found.has(group.key)) return false;
      found.set(group.key, group);
      return true;
    });

  if (isOfUser(member)) {
    const said = await directory.values(entry, member);
    const primary = await primaryGroup(directory, settings, entry);
    const own = [...said, ...(primary === undefined ? [] : [primary])];
    for (const dn of nested ? await withParents(directory, member, own) : own) {
      const group = groupOf(settings, dn);
      if (group) found.set(group.key, group);
    }
    // an entry without memberOf is in no group, unless the service account cannot read memberOf
    if (said.length === 0 && (await search({ attribute: 'member', value: entry.dn })).length > 0) return undefined;
    return own.length > 0 || (await seesGroups(directory, settings)) ? groupsIn(found) : undefined;
  }
  const called = calledIn(settings, entry);
  if (called === '') return undefined;
  const primary = await primaryGroup(directory, settings, entry);
  const ofPrimary = primary === undefined ? [] : add(await search(isItself(primary)));
  if (nested && isActiveDirectory(settings)) {
    for (const value of [called, ...(primary === undefined ? [] : [primary])])
      add(await search({ attribute: member, rule: inChain, value }));
  } else {
    let level = [...ofPrimary, ...add(await search({ attribute: member, value: called }))];
    // groups that contain each other count once (federation F57)
    for (let depth = 0; nested && level.length > 0 && depth < maxDepth; depth++) {
      const next: DirectoryEntry[] = [];
      for (const { dn } of level) next.push(...add(await search({ attribute: member, value: dn })));
      if (found.size > maxOfUser) return undefined;
      level = next;
    }
  }
  return found.size > 0 || (await seesGroups(directory, settings)) ? groupsIn(found) : undefined;
}

/** The given groups, and level by level the groups that contain them, by an attribute such as memberOf. */
async function withParents(directory: DirectoryConnection, member: string, own: readonly string[]): Promise<string[]> {
  const known = new Map(own.map((dn) => [nameKey(dn), dn]));
  for (const dn of known.values()) {
    if (known.size > maxOfUser) break;
    const itself = { base: dn, scope: 'base' as const, filter: { text: '(objectClass=*)' }, attributes: [member] };
    const [group] = await directory.search({ ...itself, limit: 1 }).catch(unlessUnseen);
    for (const parent of group ? await directory.values(group, member) : [])
      if (!known.has(nameKey(parent))) known.set(nameKey(parent), parent);
  }
  return [...known.values()];
}

/** If the service account cannot see a group, the groups that contain it do not count. */
function unlessUnseen(error: unknown): DirectoryEntry[] {
  if ((error as { failure?: unknown }).failure !== 'search') throw error;
  return [];
}

/**
 * Whether the service account sees any group with members. If it sees none, a user without groups may still be in a group. Groups of a class
 * that does not have the member attribute have no members.
 */
export async function seesGroups(directory: DirectoryConnection, settings: LdapSettings): Promise<boolean> {
  const { group_base: base, group_filter: text, member_attribute: member } = settings;
  const named = isOfUser(member) ? [] : [{ text: `(${member}=*)` }];
  const search = { base: base!, filter: { all: [{ text }, ...named] }, attributes: ['cn'], limit: 1 };
  try {
    return (await directory.search(search)).length > 0;
  } catch (error) {
    if ((error as { failure?: unknown }).failure === 'limit') return true;
    throw error;
  }
}

function groupsIn(found: ReadonlyMap<string, Group>): DirectoryGroups {
  const groups = [...found.values()];
  return { names: [...new Set(groups.map(({ name }) => name))].sort(), dns: groups.map(({ dn }) => dn).sort() };
}

/** Returns the groups of a user whose entry an import has read. */
export type GroupsOfEntry = (entry: DirectoryEntry) => Promise<DirectoryGroups | undefined>;

/**
 * Reads all groups with their members, a page at a time, so that an import needs no search for each user.
 * @param alive called for each page
 * @throws DirectoryUnavailable
 */
export async function readAllGroups(
  directory: DirectoryConnection,
  settings: LdapSettings,
  alive: () => Promise<void>,
): Promise<GroupsOfEntry> {
  const { member_attribute: member, nested, group_base: base, group_filter: text, page_size: size } = settings;
  if (base === undefined) return async () => undefined;
  if (isOfUser(member)) return (entry) => readGroups(directory, settings, entry);
  const byUid = isByUid(member);
  const keyOf = (value: string) => {
    const name = byUid ? undefined : readName(value);
    return byUid ? value : name && keyOfName(name);
  };
  const groups = new Map<string, Group>();
  /** The groups of each member, by the member's key. */
  const containing = new Map<string, string[]>();
  for await (const page of directory.pages({ base, filter: { text }, attributes: ['cn', member] }, size)) {
    await alive();
    for (const entry of page) {
      const group = groupOf(settings, entry.dn);
      if (!group) continue;
      groups.set(group.key, group);
      for (const value of await directory.values(entry, member)) {
        const key = keyOf(value);
        const others = key === undefined ? undefined : containing.get(key);
        if (others) others.push(group.key);
        else if (key !== undefined) containing.set(key, [group.key]);
      }
    }
  }
  const parentsOf = (key: string) => containing.get(key) ?? [];
  // most users have the same primary group
  const primaryOf = rememberedPrimaryGroup(directory, settings);
  return async (entry) => {
    // if no group has a member, the member attribute is not the one that these groups use
    if (containing.size === 0 || groups.size > maxGroups) return undefined;
    const own = keyOf(calledIn(settings, entry));
    const found = new Set(own === undefined ? [] : parentsOf(own));
    const primary = await primaryOf(entry);
    if (primary !== undefined) found.add(nameKey(primary));
    if (nested) for (const key of found) for (const parent of parentsOf(key)) found.add(parent);
    return groupsIn(new Map([...found].flatMap((key) => (groups.has(key) ? [[key, groups.get(key)!]] : []))));
  };
}
