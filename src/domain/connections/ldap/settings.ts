// Holds the settings of a connection to a directory, and the defaults of each preset (federation 6).
import { z } from 'zod';
import type { Connection } from '../../../entities/connections.ts';
import { type Input, member, type ValuesOf } from '../../../entities/entity.ts';
import type { Typing } from '../../../entities/field.ts';
import { rule } from '../../../oauth/refusals.ts';
import { text } from '../../../oauth/text.ts';
import { settingRules } from '../kind.ts';
import { listField } from '../settings.ts';

export const directoryPresets = ['openldap', 'active_directory', '389ds', 'freeipa'] as const;

/** The attributes with the permanent id of an entry. A directory gives no value to a second entry. */
export const idAttributes = ['entryUUID', 'objectGUID', 'nsUniqueId', 'ipaUniqueID'] as const;

interface Defaults {
  user_filter: string;
  login_attributes: string[];
  id_attribute: (typeof idAttributes)[number];
  group_filter: string;
  member_attribute: string;
  nested: boolean;
}

const defaults: Record<(typeof directoryPresets)[number], Defaults> = {
  openldap: {
    user_filter: '(objectClass=inetOrgPerson)',
    login_attributes: ['uid', 'mail'],
    id_attribute: 'entryUUID',
    group_filter: '(objectClass=groupOfNames)',
    member_attribute: 'member',
    nested: false,
  },
  active_directory: {
    user_filter: '(&(objectCategory=person)(objectClass=user))',
    login_attributes: ['sAMAccountName', 'userPrincipalName', 'mail'],
    id_attribute: 'objectGUID',
    group_filter: '(objectClass=group)',
    member_attribute: 'member',
    nested: true,
  },
  '389ds': {
    user_filter: '(objectClass=inetOrgPerson)',
    login_attributes: ['uid', 'mail'],
    id_attribute: 'nsUniqueId',
    group_filter: '(objectClass=groupOfNames)',
    member_attribute: 'member',
    nested: false,
  },
  freeipa: {
    user_filter: '(objectClass=posixAccount)',
    login_attributes: ['uid', 'mail'],
    id_attribute: 'ipaUniqueID',
    group_filter: '(objectClass=ipausergroup)',
    member_attribute: 'memberOf',
    nested: false,
  },
};

const needed = (max: number) => text(max).min(1, rule('empty'));
const attribute = z.string().regex(/^[a-z][a-z0-9-]{0,62}$/i);

/** The preset decides some settings of a new connection, and stays. */
const isNew = ({ id }: Input): boolean => id === undefined;
const isChange = (values: Input): boolean => !isNew(values);
/** A text with several lines, for which an empty one is none. */
const certificates: Typing = { write: String, read: (typed) => typed.trim() };
/** A number of minutes, or `off` for an empty field. */
const minutes: Typing = {
  write: (interval: number | 'off') => (interval === 'off' ? '' : String(interval)),
  read: (typed) => (/^\d{1,5}$/.test(typed.trim()) ? Number(typed) : typed.trim()),
};

export const directorySettings = {
  preset: member('The kind of directory, which sets the defaults of the other settings.', z.enum(directoryPresets), {
    start: 'openldap',
    when: isNew,
    form: 'radio',
  }),
  url: member('ldaps://host:port, or ldap://host:port with starttls. CONNECTIONS_ALLOW must name it.', needed(300), {
    required: true,
    trust: true,
    form: 'text',
  }),
  starttls: member('Whether the connection is encrypted by StartTLS.', z.boolean(), {
    start: false,
    trust: true,
    group: 'protocol',
    form: 'check',
  }),
  ca: member('The certificates (PEM) of the authorities that sign for the directory.', text(65_536), {
    trust: true,
    group: 'protocol',
    form: { ...listField, lines: 4, typing: certificates },
  }),
  bind_dn: member('The service account that searches. Its password is the secret.', needed(1000), {
    required: true,
    trust: true,
    form: 'text',
  }),
  base: member('The entry below which users are.', needed(1000), {
    required: true,
    trust: true,
    form: 'text',
  }),
  user_filter: member('Which entries are users.', needed(2000), {
    trust: true,
    when: isChange,
    group: 'who',
    form: 'text',
  }),
  login_attributes: member('The attributes with the names that users type.', z.array(attribute).min(1).max(5), {
    trust: true,
    when: isChange,
    group: 'who',
    form: listField,
  }),
  id_attribute: member('The attribute with the permanent id of a user.', z.enum(idAttributes), { trust: true }),
  group_base: member('The entry below which groups are. Without it no groups are read.', text(1000), {
    trust: true,
    group: 'groups',
    form: 'text',
  }),
  group_filter: member('Which entries are groups.', needed(2000), {
    trust: true,
    when: isChange,
    group: 'groups',
    form: 'text',
  }),
  member_attribute: member(
    'The attribute of a group that names its members; memberOf for that of a user that names the groups.',
    attribute,
    { trust: true, when: isChange, group: 'groups', form: { kind: 'text', most: 63 } },
  ),
  nested: member('Whether members of nested groups are included.', z.boolean(), {
    trust: true,
    when: isChange,
    group: 'groups',
    form: 'check',
  }),
  import: member(
    'off, or the minutes between two imports of changed users.',
    z.union([z.literal('off'), z.int().min(5).max(10_080)]),
    { start: 'off', group: 'accounts', form: { kind: 'text', most: 5, typing: minutes } },
  ),
  page_size: member('Entries in one page of an import.', z.int().min(10).max(5000), { start: 500 }),
  limit: member('Wrong passwords of a user in 15 minutes that reach the directory.', z.int().min(1).max(100), {
    start: 4,
  }),
};
type Given = ValuesOf<typeof directorySettings>;

/** Treats a setting with an empty text as absent. */
const withoutEmpty = (given: unknown): unknown =>
  typeof given === 'object' && given !== null && !Array.isArray(given)
    ? Object.fromEntries(Object.entries(given).filter(([name, value]) => value !== '' || name === 'url'))
    : given;

/** The filter for groups whose member attribute is not the preset's (RFC 4519, RFC 2307). */
const groupClasses: Readonly<Record<string, string>> = {
  uniquemember: '(objectClass=groupOfUniqueNames)',
  memberuid: '(objectClass=posixGroup)',
};

/** The defaults of a preset, with the group filter that fits the member attribute. */
function defaultsOf(preset: keyof typeof defaults, member: string | undefined): Defaults {
  const filter = preset === 'active_directory' ? undefined : groupClasses[member?.toLowerCase() ?? ''];
  return { ...defaults[preset], ...(filter !== undefined && { group_filter: filter }) };
}

/** The preset fills in absent settings, so the stored settings are those that the service uses. */
export const ldapSettings = z
  .preprocess(withoutEmpty, z.strictObject(settingRules(directorySettings)))
  .transform((all) => {
    // the compiler cannot follow the rules of a generic declaration
    const given = all as Given;
    return {
      ...defaultsOf(given.preset, given.member_attribute),
      ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    };
  });

export type LdapSettings = Given & Defaults;

/** The stored settings. They were checked when they were saved; the column holds the settings of every kind as JSON. */
export const settingsOf = ({ settings }: Pick<Connection, 'settings'>): LdapSettings =>
  settings as unknown as LdapSettings;
