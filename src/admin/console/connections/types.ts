// Lists the connections that the console's forms create, and which members each form asks for.
import type { ConnectionTypeName } from '../../../pages/views/connections.ts';
import { type Connection, connections } from '../../../entities/connections.ts';
import type { Input } from '../../../entities/entity.ts';

export interface ConnectionType {
  name: ConnectionTypeName;
  kind: Connection['kind'];
  preset?: NonNullable<Connection['preset']>;
  /** The names of the fields in their order. The name `settings` means every setting of the kind. */
  order: readonly string[];
  /** The fields that are open, though they are folded in the forms of other types. */
  shows?: readonly string[];
  /** What the form proposes where the service has no default, or another one. */
  proposes?: Input;
}

/** The members but those for which the provider has no use: it tells no groups or factors, or no user signs out there. */
const without = (...names: string[]): string[] => connections.order.filter((name) => !names.includes(name));

/** The groups of a form, in their order: the first one has no name, and is open. */
export const groupOrder = [undefined, 'who', 'accounts', 'groups', 'session', 'protocol'] as const;

const named = (id: string, name: string): Input => ({ id, display_name: name });

/** In the order in which the console offers them. */
export const connectionTypes: readonly ConnectionType[] = [
  // the provider itself decides which addresses its word confirms
  {
    name: 'google',
    kind: 'oidc',
    preset: 'google',
    order: without('trust_email', 'group_rules', 'trust_mfa', 'logout'),
    proposes: named('google', 'Google'),
  },
  {
    name: 'microsoft',
    kind: 'oidc',
    preset: 'microsoft',
    order: connections.order,
    proposes: named('microsoft', 'Microsoft'),
  },
  {
    name: 'github',
    kind: 'oauth',
    preset: 'github',
    order: without('trust_mfa', 'logout'),
    proposes: named('github', 'GitHub'),
  },
  {
    name: 'apple',
    kind: 'oidc',
    preset: 'apple',
    order: without('group_rules', 'trust_mfa', 'logout'),
    proposes: named('apple', 'Apple'),
  },
  { name: 'oidc', kind: 'oidc', order: connections.order },
  { name: 'oauth', kind: 'oauth', order: without('trust_mfa', 'logout') },
  // its answers have no word about an address, and no tokens
  { name: 'saml', kind: 'saml', order: without('trust_email', 'store_tokens') },
];

/** The members of a directory that its test needs, with which the form begins. */
export const testedMembers = ['preset', 'url', 'bind_dn', 'secret', 'base'] as const;

/** In the order in which an administrator asks: where it is, who searches, users, groups, what follows. */
export const directoryType: ConnectionType = {
  name: 'directory',
  kind: 'ldap',
  order: [
    ...testedMembers,
    'ca',
    'group_base',
    'authoritative_domains',
    'display_name',
    'id',
    'status',
    'provisioning',
    'user_filter',
    'login_attributes',
    'linking',
    'import',
    'group_filter',
    'member_attribute',
    'nested',
    'group_rules',
    'default_groups',
    'claim_rules',
    'starttls',
  ],
  // a directory of a company has a certificate of its own, and without the other two its users have no groups and no addresses
  shows: ['ca', 'group_base', 'authoritative_domains'],
  proposes: { id: 'directory', provisioning: 'on', settings: { url: 'ldaps://' } },
};

export const findType = (name: string): ConnectionType | undefined =>
  connectionTypes.find((type) => type.name === name);

/** Undefined for a connection that another page changes. */
export const typeOf = ({
  kind,
  preset,
}: Pick<Connection, 'kind'> & { preset?: string | undefined }): ConnectionType | undefined =>
  connectionTypes.find((type) => type.kind === kind && type.preset === preset);
