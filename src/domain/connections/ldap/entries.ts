// Reads users of a directory: searches for their entries, and reads the identity and the claims of an entry.
import { addressOf, type Claims } from '../../../rules/connections/connection-answer.ts';
import { isSubject } from '../../../rules/connections/connection-answer.ts';
import { directoryId } from '../../../rules/connections/directory-id.ts';
import type {
  DirectoryAddress,
  DirectoryConnection,
  DirectoryEntry,
  DirectoryFilter,
  DirectorySearch,
} from '../../../outbound/directory-address.ts';
import type { Connection } from '../../../entities/connections.ts';
import type { VerifiedIdentity } from '../kind.ts';
import { type LdapSettings, settingsOf } from './settings.ts';

/** @param password that of the service account */
export const addressIn = ({ url, starttls, ca, bind_dn }: LdapSettings, password: string): DirectoryAddress => ({
  url,
  startTls: starttls,
  ca,
  bindDn: bind_dn,
  bindPassword: password,
});

/** The claims that need no rule, with their attributes. The first attribute with a value counts. */
const usual: Readonly<Record<string, readonly string[]>> = {
  name: ['displayName', 'cn'],
  given_name: ['givenName'],
  family_name: ['sn'],
  email: ['mail'],
  locale: ['preferredLanguage'],
};

/** The bit of userAccountControl that disables an account of Active Directory (MS-ADTS 2.2.16). */
const disabledBit = 2;
/** The object classes of entries that point to another entry. */
const pointers = ['alias', 'referral'];

/** What reading an entry asks of a connection. */
export type ReadConnection = Pick<Connection, 'settings' | 'claimRules' | 'usernameFrom'>;

const isAttribute = (name: string) => /^[a-z][a-z0-9-]{0,62}$/i.test(name);

/** The search for users with its filter and attributes. @param more further attributes */
export function searchOf(
  connection: ReadConnection,
  filter: DirectoryFilter,
  more: readonly string[] = [],
): DirectorySearch {
  const { base, id_attribute: id, login_attributes: logins, member_attribute: member } = settingsOf(connection);
  const ruled = [...connection.claimRules.map(({ from }) => from), connection.usernameFrom].filter(isAttribute);
  const isActiveDirectory = id === 'objectGUID';
  const state = isActiveDirectory ? ['userAccountControl', 'accountExpires', ...primaryAttributes] : [];
  const own = ['objectClass', ...state, ...(isByUid(member) ? ['gidNumber'] : []), ...Object.values(usual).flat()];
  const attributes = [...new Set([id, ...logins, ...own, ...ruled, ...(isOfUser(member) ? [member] : []), ...more])];
  return { base, filter, attributes, binary: isActiveDirectory ? [id, sidAttribute] : [] };
}

/** The security identifier of an entry of Active Directory. */
export const sidAttribute = 'objectSid';
const primaryAttributes = ['primaryGroupID', sidAttribute];

/** Whether groups list their members by the name that users type (RFC 2307). */
export const isByUid = (memberAttribute: string): boolean => memberAttribute.toLowerCase() === 'memberuid';

/** Whether memberships are an attribute of the user: memberOf. */
export const isOfUser = (memberAttribute: string): boolean => memberAttribute.toLowerCase() === 'memberof';

/** The filter for users with the typed name. The directory compares the value, which is never pasted into the text of a filter (federation FR31). */
const filterOf = (connection: ReadConnection, attribute: string, value: string): DirectoryFilter => ({
  all: [{ text: settingsOf(connection).user_filter }, { attribute, value }],
});

/** The permanent id of the user in the directory. Undefined if the entry has none, or only points to another entry (federation F52). */
export function subjectOf(connection: ReadConnection, entry: DirectoryEntry): string | undefined {
  const id = settingsOf(connection).id_attribute.toLowerCase();
  const classes = (entry.attributes.get('objectclass') ?? []).map((one) => one.toLowerCase());
  if (pointers.some((pointer) => classes.includes(pointer))) return undefined;
  const bytes = entry.binary.get(id);
  const values = entry.attributes.get(id) ?? [];
  const subject = bytes ? directoryId(bytes) : values.length === 1 ? values[0]!.toLowerCase() : undefined;
  return isSubject(subject) ? subject : undefined;
}

/** Whether Active Directory refuses the user's sign-in: the account is disabled, or has expired. */
export function isDisabled(entry: DirectoryEntry, now: Date): boolean {
  const control = entry.attributes.get('useraccountcontrol')?.[0];
  if (control !== undefined && (Number(control) & disabledBit) !== 0) return true;
  const end = entry.attributes.get('accountexpires')?.[0];
  return end !== undefined && /^\d{1,19}$/.test(end) && hasPassed(BigInt(end), now);
}

/** Whether an account has expired. `end` counts intervals of 100 nanoseconds since 1601; 0 and the greatest number mean never (MS-ADA1 2.1). */
function hasPassed(end: bigint, now: Date): boolean {
  const until = end / 10_000n - 11_644_473_600_000n;
  return end !== 0n && until <= BigInt(now.getTime());
}

/** The groups of a user: their names, and the distinguished names of their entries. */
export interface DirectoryGroups {
  names: string[];
  dns: string[];
}

/** @param groups undefined if the directory did not say (federation FR15) */
export function identityOf(
  connection: Connection,
  entry: DirectoryEntry,
  subject: string,
  groups: DirectoryGroups | undefined,
  authTime: Date | undefined,
): VerifiedIdentity {
  const claims = claimsOf(connection, entry, groups);
  return {
    // a directory has no issuer, so the id of the connection is the issuer
    issuer: connection.id,
    subject,
    claims,
    address: addressOf(claims),
    authTime,
    amr: ['fed'],
    sid: undefined,
  };
}

function claimsOf(connection: Connection, entry: DirectoryEntry, groups: DirectoryGroups | undefined): Claims {
  const valuesOf = (name: string) => entry.attributes.get(name.toLowerCase()) ?? [];
  const claims: Record<string, unknown> = {};
  for (const [claim, attributes] of Object.entries(usual)) {
    const value = attributes.flatMap(valuesOf)[0];
    if (value !== undefined) claims[claim] = value;
  }
  const login = settingsOf(connection).login_attributes.flatMap(valuesOf)[0];
  if (login !== undefined) claims['preferred_username'] = login;
  for (const name of [...connection.claimRules.map(({ from }) => from), connection.usernameFrom]) {
    const values = valuesOf(name);
    if (values.length > 0) claims[name] = values.length === 1 ? values[0] : values;
  }
  return { ...claims, ...(groups && { groups: groups.names, group_dns: groups.dns }) };
}

/**
 * Finds the entry with a typed name. The first login attribute by which there is exactly one entry counts: a user whose address is another
 * user's name does not get that user's name (security R163). All attributes are searched at once, so an unknown name costs as much as a known one.
 * @throws DirectoryUnavailable
 */
export async function findEntry(
  directory: DirectoryConnection,
  connection: ReadConnection,
  name: string,
): Promise<{ entry: DirectoryEntry | undefined; ambiguous: boolean }> {
  const { login_attributes: logins } = settingsOf(connection);
  const found = await Promise.all(
    logins.map((attribute) => findOne(directory, connection, filterOf(connection, attribute, name))),
  );
  const entry = found.find((one): one is DirectoryEntry => one !== undefined && one !== 'many');
  return { entry, ambiguous: found.includes('many') };
}

/** The only entry that matches; `many` if there are several. */
async function findOne(
  directory: DirectoryConnection,
  connection: ReadConnection,
  filter: DirectoryFilter,
): Promise<DirectoryEntry | 'many' | undefined> {
  // two entries show that there are several; a directory with more reports that its limit is exceeded
  const found = await directory.search({ ...searchOf(connection, filter), limit: 2 }).catch((error: unknown) => {
    if ((error as { failure?: unknown }).failure === 'limit') return 'many' as const;
    throw error;
  });
  return found === 'many' || found.length > 1 ? 'many' : found[0];
}
