// Reads the groups of a directory's users: those of one user at a sign-in, or all of them for an import (federation 6).
import { isWithin, keyOfName, ownValue, readName } from '../../../oauth/distinguished-name.ts';
import type { DirectoryConnection, DirectoryEntry, DirectoryFilter } from '../../../outbound/directory-address.ts';
import { type LdapSettings } from './settings.ts';
import { isOfUser } from './entries.ts';

/** The rule by which Active Directory itself follows groups in groups. */
const inChain = '1.2.840.113556.1.4.1941';
/** The most groups of a user, and of a directory. */
const maxOfUser = 5_000;
const maxGroups = 100_000;
/** How deep groups in groups are followed. */
const maxDepth = 50;

interface Group {
  key: string;
  name: string;
}

/** A group by its entry; undefined if it is outside the base, or its name cannot be read: that never means all groups (keycloak#41842). */
function groupOf(settings: LdapSettings, dn: string): Group | undefined {
  const base = readName(settings.group_base ?? '');
  const name = readName(dn);
  return name && base && isWithin(name, base) ? { key: keyOfName(name), name: ownValue(name) } : undefined;
}

const isActiveDirectory = ({ id_attribute: id }: LdapSettings) => id === 'objectGUID';

/** What a group's member attribute calls an entry. */
function calledIn({ member_attribute: member, login_attributes: logins }: LdapSettings, entry: DirectoryEntry): string {
  // posixGroup names its members by their uid (RFC 2307)
  return member.toLowerCase() === 'memberuid' ? (entry.attributes.get(logins[0]!.toLowerCase())?.[0] ?? '') : entry.dn;
}

/**
 * The names of a user's groups. Undefined if the directory did not say: no base is set, a search failed, or no group can be seen at all.
 * None is an empty list, which is another outcome (federation FR15).
 */
export async function groupsOf(
  directory: DirectoryConnection,
  settings: LdapSettings,
  entry: DirectoryEntry,
  warn: (error: unknown) => void,
): Promise<string[] | undefined> {
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
): Promise<string[] | undefined> {
  const { member_attribute: member, nested } = settings;
  const found = new Map<string, Group>();
  const search = (filter: DirectoryFilter) =>
    directory.search({
      ...{ base: settings.group_base!, attributes: ['cn'], limit: maxOfUser },
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
    for (const dn of said) {
      const group = groupOf(settings, dn);
      if (group) found.set(group.key, group);
    }
    // an entry without memberOf is in no group, unless the service account cannot read memberOf
    if (said.length === 0 && (await search({ attribute: 'member', value: entry.dn })).length > 0) return undefined;
    if (said.length > 0 || (await seesGroups(directory, settings))) return namesOf(found);
    return undefined;
  }
  const called = calledIn(settings, entry);
  if (called === '') return undefined;
  if (nested && isActiveDirectory(settings)) {
    add(await search({ attribute: member, rule: inChain, value: called }));
  } else {
    let level = add(await search({ attribute: member, value: called }));
    // groups that contain each other are found once (federation F57)
    for (let depth = 0; nested && level.length > 0 && depth < maxDepth; depth++) {
      const next: DirectoryEntry[] = [];
      for (const { dn } of level) next.push(...add(await search({ attribute: member, value: dn })));
      if (found.size > maxOfUser) return undefined;
      level = next;
    }
  }
  return found.size > 0 || (await seesGroups(directory, settings)) ? namesOf(found) : undefined;
}

/** Whether the service account sees any group: without, a user without groups is not known to be in none. */
async function seesGroups(directory: DirectoryConnection, settings: LdapSettings): Promise<boolean> {
  const search = { base: settings.group_base!, filter: { text: settings.group_filter }, attributes: ['cn'], limit: 1 };
  try {
    return (await directory.search(search)).length > 0;
  } catch (error) {
    if ((error as { failure?: unknown }).failure === 'limit') return true;
    throw error;
  }
}

const namesOf = (found: ReadonlyMap<string, { name: string }>): string[] =>
  [...new Set([...found.values()].map(({ name }) => name))].sort();

/** The groups of every user, by what an import has read of the user. */
export type GroupsOfEntry = (entry: DirectoryEntry) => Promise<string[] | undefined>;

/**
 * Reads all groups with their members, a page at a time, so that an import asks no question for each user.
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
  if (isOfUser(member))
    return async (entry) => {
      const names = (await directory.values(entry, member)).flatMap((dn) => groupOf(settings, dn) ?? []);
      if (names.length > 0) return namesOf(new Map(names.map((group) => [group.key, group])));
      // the attribute is absent: the slower question tells none from not said
      return readGroups(directory, settings, entry);
    };
  const byUid = member.toLowerCase() === 'memberuid';
  const keyOf = (value: string) => {
    const name = byUid ? undefined : readName(value);
    return byUid ? value : name && keyOfName(name);
  };
  const names = new Map<string, string>();
  /** The groups in which a member is, by the member's key. */
  const containing = new Map<string, string[]>();
  for await (const page of directory.pages({ base, filter: { text }, attributes: ['cn', member] }, size)) {
    await alive();
    for (const entry of page) {
      const group = groupOf(settings, entry.dn);
      if (!group) continue;
      names.set(group.key, group.name);
      for (const value of await directory.values(entry, member)) {
        const key = keyOf(value);
        const others = key === undefined ? undefined : containing.get(key);
        if (others) others.push(group.key);
        else if (key !== undefined) containing.set(key, [group.key]);
      }
    }
  }
  const parentsOf = (key: string) => containing.get(key) ?? [];
  return async (entry) => {
    if (names.size === 0 || names.size > maxGroups) return undefined;
    const own = keyOf(calledIn(settings, entry));
    const found = new Set(own === undefined ? [] : parentsOf(own));
    if (nested) for (const key of found) for (const parent of parentsOf(key)) found.add(parent);
    return [...new Set([...found].map((key) => names.get(key)!))].sort();
  };
}
