// Holds the settings of a connection to a directory, and the defaults of each preset (federation 6).
import { z } from 'zod';
import { rule } from '../../../oauth/refusals.ts';
import { text } from '../../../oauth/text.ts';
import type { Connection } from '../../../repositories/connections/connections.ts';

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

const shape = z.strictObject({
  preset: z.enum(directoryPresets).default('openldap').describe('What fills in the settings that are not given.'),
  url: needed(300).describe('ldaps://host:port, or ldap://host:port with starttls. CONNECTIONS_ALLOW must name it.'),
  starttls: z.boolean().default(false).describe('Whether the connection is encrypted by StartTLS.'),
  ca: text(65_536).optional().describe('The certificates (PEM) of the authorities that sign for the directory.'),
  bind_dn: needed(1000).describe('The service account that searches. Its password is the secret.'),
  base: needed(1000).describe('The entry below which users are.'),
  user_filter: needed(2000).optional().describe('Which entries are users.'),
  login_attributes: z.array(attribute).min(1).max(5).optional().describe('What users type as their name.'),
  id_attribute: z.enum(idAttributes).optional().describe('The attribute that names a user for ever.'),
  group_base: text(1000).optional().describe('The entry below which groups are. Without it no groups are read.'),
  group_filter: needed(2000).optional().describe('Which entries are groups.'),
  member_attribute: attribute
    .optional()
    .describe('The attribute of a group that names its members; memberOf for that of a user that names the groups.'),
  nested: z.boolean().optional().describe('Whether the members of a group in a group count.'),
  import: z
    .union([z.literal('off'), z.int().min(5).max(10_080)])
    .default('off')
    .describe('off, or the minutes between two imports of changed users.'),
  page_size: z.int().min(10).max(5000).default(500).describe('Entries in one page of an import.'),
  limit: z
    .int()
    .min(1)
    .max(100)
    .default(4)
    .describe('Wrong passwords of a user in 15 minutes that reach the directory.'),
});

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
export const ldapSettings = z.preprocess(withoutEmpty, shape).transform((given) => ({
  ...defaultsOf(given.preset, given.member_attribute),
  ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
}));

export const ldapShape = shape.shape;
export type LdapSettings = z.infer<typeof shape> & Defaults;

/** The stored settings. They were checked when they were saved; the column holds the settings of every kind as JSON. */
export const settingsOf = ({ settings }: Pick<Connection, 'settings'>): LdapSettings =>
  settings as unknown as LdapSettings;
