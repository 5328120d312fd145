// Finds the primary group of a user in Active Directory or of a POSIX account (RFC 2307). The group's list of members does not name the user.
import { readName } from '../../../rules/connections/distinguished-name.ts';
import type { DirectoryConnection, DirectoryEntry, DirectoryFilter } from '../../../outbound/directory-address.ts';
import { isByUid, sidAttribute } from './entries.ts';
import type { LdapSettings } from './settings.ts';

/** The filter for the entry with this name, in a search for groups. Active Directory compares names with distinguishedName. */
export const isItself = (dn: string): DirectoryFilter => ({
  any: ['distinguishedName', 'entryDN'].map((attribute) => ({ attribute, value: dn })),
});

/** The name of the user's primary group; undefined if there is none, or the service account cannot see it. */
export async function primaryGroup(
  directory: DirectoryConnection,
  settings: LdapSettings,
  entry: DirectoryEntry,
): Promise<string | undefined> {
  const sought = soughtGroup(settings, entry);
  return sought && readPrimaryGroup(directory, settings, entry, sought);
}

/** Finds the primary groups of many users, and reads each group once. */
export function rememberedPrimaryGroup(directory: DirectoryConnection, settings: LdapSettings) {
  const known = new Map<string, Promise<string | undefined>>();
  return async (entry: DirectoryEntry): Promise<string | undefined> => {
    const sought = soughtGroup(settings, entry);
    if (!sought) return undefined;
    const key = sought.value.toString('hex');
    const group = known.get(key) ?? readPrimaryGroup(directory, settings, entry, sought);
    known.set(key, group);
    return group;
  };
}

interface Sought {
  attribute: string;
  value: Buffer;
}

/** The attribute and value that find the group. In Active Directory, its SID is the user's SID with another last number (MS-DTYP 2.4.2). */
function soughtGroup(settings: LdapSettings, entry: DirectoryEntry): Sought | undefined {
  if (isByUid(settings.member_attribute)) {
    const gid = entry.attributes.get('gidnumber')?.[0];
    return gid === undefined ? undefined : { attribute: 'gidNumber', value: Buffer.from(gid) };
  }
  const sid = entry.binary.get(sidAttribute.toLowerCase());
  const relative = Number(entry.attributes.get('primarygroupid')?.[0] ?? NaN);
  if (!sid || sid.length < 12 || !Number.isInteger(relative) || relative < 0 || relative > 0xffff_ffff)
    return undefined;
  const value = Buffer.from(sid);
  value.writeUInt32LE(relative, value.length - 4);
  return { attribute: sidAttribute, value };
}

/** Searches for the group. In Active Directory it may be outside the base of the groups, and a member of groups below the base. */
async function readPrimaryGroup(
  directory: DirectoryConnection,
  settings: LdapSettings,
  entry: DirectoryEntry,
  sought: Sought,
): Promise<string | undefined> {
  const base = sought.attribute === sidAttribute ? domainOf(entry.dn) : settings.group_base;
  if (base === undefined) return undefined;
  const filter =
    sought.attribute === sidAttribute
      ? sought
      : { all: [{ text: settings.group_filter }, { ...sought, value: sought.value.toString() }] };
  const found = await directory.search({ base, filter, attributes: ['cn'], limit: 2 });
  return found.length === 1 ? found[0]!.dn : undefined;
}

/** The name of the domain of an entry of Active Directory. */
function domainOf(dn: string): string | undefined {
  const name = readName(dn);
  if (!name) return undefined;
  const at = name.findIndex((relative) => relative[0]!.attribute === 'dc');
  return at < 0
    ? undefined
    : name
        .slice(at)
        .map((relative) => `dc=${relative[0]!.value}`)
        .join(',');
}
